import assert from 'node:assert/strict'
import type { TLSSocket } from 'node:tls'
import { Webhook as Verifier } from 'standardwebhooks'
import { certificate } from '../rig/certificates.ts'
import { answerBytes, Destination, ok, type ReceivedRequest } from '../rig/destination.ts'
import { DnsServer } from '../rig/dns-server.ts'
import { outboundFlags } from '../rig/outbound-flags.ts'

const host = 'api.partner.example'
/** From then on it answers some events with 500 at first. Short runs end before: they have no time for repetitions. */
const eventsBeforeFailures = 2_000
const failsOneIn = 50

/** What the partner was sent of a token: which charge it is, and for which token. */
type Charge = { readonly token: string; readonly data: unknown }

/** Somebody else's server, behind a real name and certificate: it is sent the values of tokens, and told events. */
export class Partner {
  /** By their numbers. */
  readonly charges = new Map<number, Charge>()
  /** Events that it has taken, as they were told at first. */
  readonly told = new Map<string, string>()
  secret = ''
  /** What is wrong with what it got. */
  readonly complaints: string[] = []
  /** Events that came again. */
  repeated = 0
  readonly #dns: DnsServer
  readonly #destination: Destination
  readonly #ca: string
  readonly #refused = new Set<string>()

  private constructor(dns: DnsServer, destination: Destination, ca: string) {
    this.#dns = dns
    this.#destination = destination
    this.#ca = ca
    destination.reply = (socket, request) => this.#take(socket, request)
  }

  static async start(): Promise<Partner> {
    const ca = certificate('Partner CA')
    const dns = await DnsServer.start()
    dns.set(host, { a: ['127.0.0.1'] })
    return new Partner(dns, await Destination.start(certificate(host, ca)), ca.cert)
  }

  get port(): number {
    return this.#destination.port
  }

  url(path: string): string {
    return `https://${host}:${this.port}${path}`
  }

  /** The flags of a server that may call it. `write` makes a file. */
  flags(write: (name: string, content: string) => string): readonly string[] {
    const calls = {
      allow: [{ network: '127.0.0.1', port: this.port }],
      ports: [this.port],
      dns: [this.#dns.address],
    }
    return outboundFlags(calls, write('partner.pem', this.#ca))
  }

  stop(): void {
    this.#destination.stop()
    this.#dns.stop()
  }

  #take(socket: TLSSocket, request: ReceivedRequest): void {
    this.#destination.requests.length = 0
    try {
      if (request.line.startsWith('POST /hook ')) this.#takeEvent(socket, request)
      else this.#takeCharge(socket, request)
    } catch (error) {
      this.complaints.push(error instanceof Error ? error.message : String(error))
      socket.destroy()
    }
  }

  #takeCharge(socket: TLSSocket, { body }: ReceivedRequest): void {
    const { number, token, data } = JSON.parse(body.toString())
    assert.ok(!this.charges.has(number), `the charge ${number} came twice`)
    this.charges.set(number, { token, data })
    socket.write(ok(''))
  }

  #takeEvent(socket: TLSSocket, { headers, body }: ReceivedRequest): void {
    const of = (wanted: string): string => headers.find(([name]) => name === wanted)?.[1] ?? ''
    const [id, text] = [of('webhook-id'), body.toString()]
    // The clock of the vault is ahead of ours, so the published library signs once more instead of verifying.
    const at = new Date(Number(of('webhook-timestamp')) * 1_000)
    assert.equal(of('webhook-signature'), new Verifier(this.secret).sign(id, at, text), 'a signature')
    const { event } = JSON.parse(text)
    assert.equal(event.id, id, 'the id of an event')
    const isDoomed = this.told.size > eventsBeforeFailures && this.told.size % failsOneIn === 0
    if (isDoomed && !this.told.has(id) && !this.#refused.has(id)) {
      this.#refused.add(id)
      socket.write(answerBytes('', { status: '500 X' }))
      return
    }
    const told = JSON.stringify(event)
    const before = this.told.get(id)
    if (before !== undefined) this.repeated++
    assert.equal(told, before ?? told, `the event ${id} changed between attempts`)
    this.told.set(id, told)
    socket.write(answerBytes('', { status: '204 X' }))
  }
}
