import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Webhook as Verifier } from 'standardwebhooks'
import type { VaultEvent } from '../../src/domain/events/event.ts'
import { Secret } from '../../src/domain/secret.ts'
import type { Webhook } from '../../src/domain/webhooks/webhook.ts'
import type { ServiceSettings } from '../../src/service.ts'
import { type Certificate, certificate } from './certificates.ts'
import { answerBytes, Destination, type ReceivedRequest } from './destination.ts'
import { DnsServer } from './dns-server.ts'

const host = 'hooks.partner.example'

/** A delivery as it arrived: what it says, and the headers by which it is verified. */
export type Delivery = {
  readonly event: VaultEvent
  readonly deliveredAt: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A receiver of webhooks: a real TLS server on loopback, behind a name that a real DNS server answers. */
export class Receiver {
  readonly destination: Destination
  readonly url: string

  private constructor(destination: Destination) {
    this.destination = destination
    this.url = `https://${host}:${destination.port}/hook?x=1`
  }

  static async start(certified: Certificate): Promise<Receiver> {
    const receiver = new Receiver(await Destination.start(certified))
    receiver.answers(204)
    return receiver
  }

  answers(status: number, ...headers: string[]): void {
    this.destination.reply = answerBytes('', { status: `${status} X`, headers })
  }

  get deliveries(): Delivery[] {
    return this.destination.requests.map(readDelivery)
  }

  get types(): string[] {
    return this.deliveries.map(({ event }) => event.type)
  }

  /** Forgets what arrived, and returns it. */
  take(): Delivery[] {
    const { deliveries } = this
    this.destination.requests.length = 0
    return deliveries
  }
}

const readDelivery = ({ headers, body }: ReceivedRequest): Delivery => {
  const text = body.toString()
  const { event, delivered_at } = JSON.parse(text)
  return {
    event,
    deliveredAt: delivered_at,
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
    body: text,
  }
}

/** Throws unless the published library takes the delivery for one that was signed with this secret, now. */
export const verify = ({ headers, body }: Delivery, secret: string): void => {
  assert.ok(new Verifier(secret).verify(body, { ...headers }))
}

/** Some receivers, and the settings of a vault that may call them. */
export class Receivers {
  readonly all: readonly Receiver[]
  readonly outbound: ServiceSettings['outbound']
  readonly #dns: DnsServer

  private constructor(all: readonly Receiver[], dns: DnsServer, ca: string) {
    this.all = all
    this.#dns = dns
    const ports = all.map(({ destination }) => destination.port)
    this.outbound = {
      allow: ports.map(port => ({ network: '127.0.0.1', port })),
      deny: [],
      ports,
      dns: [dns.address],
      ca,
      ownHost: undefined,
    }
  }

  static async start(count: number): Promise<Receivers> {
    const ca = certificate('Receivers CA')
    const certified = certificate(host, ca)
    const dns = await DnsServer.start()
    dns.set(host, { a: ['127.0.0.1'] })
    const all = await Promise.all(Array.from({ length: count }, () => Receiver.start(certified)))
    return new Receivers(all, dns, ca.cert)
  }

  get dns(): DnsServer {
    return this.#dns
  }

  stop(): void {
    for (const { destination } of this.all) destination.stop()
    this.#dns.stop()
  }
}

export const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

export const webhookFor = (
  receiver: Pick<Receiver, 'url'>,
  id: string,
  more: Partial<Webhook> & { secret?: string } = {},
): Webhook => {
  const { secret = newSecret(), ...rest } = more
  return {
    id,
    name: 'Test',
    url: receiver.url,
    events: ['token.*'],
    status: 'enabled',
    secrets: [{ value: new Secret(secret) }],
    createdBy: 'somebody',
    createdAt: 0,
    ...rest,
  }
}
