import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, beforeEach, mock } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { VaultError } from '../../../src/domain/errors.ts'
import { Listener } from '../../../src/http/connections/listener.ts'
import type { Exchange } from '../../../src/http/exchange.ts'
import { problemSender } from '../../../src/http/send-problem.ts'
import { certificate } from '../../rig/certificates.ts'

export type Wire = 'TCP' | 'TLS'

const { cert, key } = certificate('127.0.0.1')
const silent = { isDebug: false, error: () => {}, info: () => {}, debug: () => {} }

export const sendProblem = problemSender({ log: silent, headerPrefix: 'svc', noteRefusal: () => {} })

/** A listener that the test says how to serve, and clients of it. Timers stand still, and the clock is the test's. */
export class Listening {
  listener!: Listener
  /** What a request does; a test may change it at any time. */
  serve: (exchange: Exchange) => void = answerWith(() => 'answered')
  now = 0
  readonly #opened: Socket[] = []
  readonly #raws = new WeakMap<Socket, Socket>()
  readonly #wire: Wire

  constructor(wire: Wire, strictReader: boolean) {
    this.#wire = wire
    beforeEach(async () => {
      mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
      this.now = 0
      this.listener = new Listener({
        ...(wire === 'TLS' && { tls: { cert, key } }),
        headerPrefix: 'svc',
        traceHeader: 'svc-trace-id',
        serve: exchange => this.serve(exchange),
        refuse: exchange => sendProblem(exchange, new VaultError('invalidHttp')),
        refuseTunnel: () => new VaultError('methodNotAllowed'),
        now: () => this.now,
        strictReader,
      })
      await once(this.listener.server.listen(0, '127.0.0.1'), 'listening')
    })
    afterEach(() => {
      for (const socket of this.#opened.splice(0)) socket.destroy()
      this.listener.server.close()
      mock.timers.reset()
      this.serve = answerWith(() => 'answered')
    })
  }

  /** Both ends of a new connection. */
  async open(): Promise<{ client: Socket; served: Socket }> {
    const taken = once(this.listener.server, this.#wire === 'TCP' ? 'connection' : 'secureConnection')
    const { port } = this.listener.server.address() as AddressInfo
    const raw = connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    const client = this.#wire === 'TCP' ? raw : connectTls({ socket: raw, host: '127.0.0.1', ca: cert })
    this.#raws.set(client, raw)
    client.setEncoding('latin1').on('error', () => {})
    const [served]: Socket[] = await taken
    assert.ok(served)
    this.#opened.push(client, served)
    return { client, served }
  }

  /** A connection on which the server has read the bytes. */
  async openWith(...pieces: readonly string[]): Promise<{ client: Socket; served: Socket }> {
    const both = await this.open()
    for (const piece of pieces) await this.send(both, piece)
    return both
  }

  /** Returns when the server has read some of the bytes. */
  async send({ client, served }: { client: Socket; served: Socket }, bytes: string): Promise<void> {
    const before = served.bytesRead
    client.write(bytes, 'latin1')
    await until(() => served.bytesRead > before)
    await turns(2)
  }

  reset(client: Socket): void {
    this.#raws.get(client)?.resetAndDestroy()
  }

  /** The answer to a request of another client, which comes after everything that was sent before. */
  async answeredElsewhere(times = 1): Promise<void> {
    for (let time = 0; time < times; time++) {
      const { client } = await this.open()
      client.write(get('/elsewhere'))
      await once(client, 'data')
      client.destroy()
    }
  }
}

/** Answers with text, once the body has come. */
export const answerWith =
  (text: (exchange: Exchange, body: string) => string): ((exchange: Exchange) => void) =>
  async exchange => {
    try {
      const body = exchange.body(() => true)
      const content = text(exchange, String(body instanceof Promise ? await body : body))
      exchange.send(200, { 'content-length': content.length }, content)
    } catch (error) {
      sendProblem(exchange, error)
    }
  }

export const head = (line: string, ...fields: readonly string[]): string =>
  [`${line} HTTP/1.1`, 'Host: vault', ...fields, '', ''].join('\r\n')

export const get = (path: string, ...fields: readonly string[]): string => head(`GET ${path}`, ...fields)

export const post = (path: string, body: string, ...fields: readonly string[]): string =>
  head(`POST ${path}`, `Content-Length: ${body.length}`, ...fields) + body

export const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise(setImmediate)
}

export const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
}

/** Collects what a client gets. */
export const reading = (client: Socket): { readonly text: string; readonly hasEnded: boolean } => {
  const got = { text: '', hasEnded: false }
  client.on('data', (some: string) => {
    got.text += some
  })
  for (const event of ['end', 'close'])
    client.on(event, () => {
      got.hasEnded = true
    })
  return got
}
