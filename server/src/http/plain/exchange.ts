import type { Socket } from 'node:net'
import type { Caller } from '../../operations/vault/vault.ts'
import type { AnswerHeaders, Exchange } from '../exchange.ts'
import { traceId } from '../trace-id.ts'
import type { PlainRequest } from './read-request.ts'

// Not an import, which would load everything the module offers, including a web client, and make a start 0.05 s slower.
const reasons = process.getBuiltinModule('node:http').STATUS_CODES

/** Where the answer to a request goes. */
export type Answering = {
  readonly socket: Socket
  readonly keepAliveSeconds: number
  /** Whether the connection ends with this answer. */
  readonly isLast: boolean
  answer(text: string): void
}

/** Its body has arrived, and its answer is a single write. */
export class PlainExchange implements Exchange {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly bodyBytes: number
  readonly params: Readonly<Record<string, string>>
  readonly traceId: string
  caller: Caller | undefined = undefined
  corsHeaders: Readonly<Record<string, string>> | undefined = undefined
  readonly #body: Buffer
  readonly #connection: Answering
  #isAnswered = false

  constructor(
    connection: Answering,
    { method, url, headers }: PlainRequest,
    params: Readonly<Record<string, string>>,
    body: Buffer,
    traceHeader: string,
  ) {
    this.method = method
    this.url = url
    this.headers = headers
    this.params = params
    this.traceId = traceId(headers[traceHeader])
    this.bodyBytes = body.length
    this.#body = body
    this.#connection = connection
  }

  get socket(): Socket {
    return this.#connection.socket
  }

  body(): Buffer {
    return this.#body
  }

  send(status: number, headers: AnswerHeaders, content = ''): void {
    if (this.#isAnswered) throw new Error('a request is answered twice')
    const { isLast, keepAliveSeconds } = this.#connection
    let head = `HTTP/1.1 ${status} ${reasons[status]}\r\n`
    for (const name in headers) head += `${name}: ${requirePrintable(headers[name])}\r\n`
    head += isLast
      ? `Date: ${date()}\r\nConnection: close\r\n\r\n`
      : `Date: ${date()}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${keepAliveSeconds}\r\n\r\n`
    this.#isAnswered = true
    this.#connection.answer(head + content)
  }
}

const unprintable = /[^\x20-\x7e]/

/** Keeps a header value from ending its line and beginning another header. */
const requirePrintable = (value: string | number | undefined): string | number => {
  if (typeof value === 'number') return value
  if (value === undefined || unprintable.test(value))
    throw new Error('a header has no value, or a character that it must not have')
  return value
}

let shown = { second: 0, text: '' }

const date = (): string => {
  const second = Math.floor(Date.now() / 1_000)
  if (second !== shown.second) shown = { second, text: new Date(second * 1_000).toUTCString() }
  return shown.text
}
