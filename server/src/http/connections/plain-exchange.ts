import type { HeaderPair } from '../../domain/proxying/sent-headers.ts'
import type { AnswerHeaders, AnswerStream, Exchange } from '../exchange.ts'
import { traceId } from '../exchange.ts'
import type { PlainRequest } from './plain-request.ts'

// Not an import, which would load everything in the module, including a web client, and slow a start by 0.05 s.
const reasons = process.getBuiltinModule('node:http').STATUS_CODES

/** Where the answer to a request goes. */
type Connection = {
  readonly remoteAddress: string
  readonly keepAliveSeconds: number
  /** Whether the connection ends with this answer. */
  readonly isLast: boolean
  /** Resolves when more may follow, or the client has left. */
  write(text: string): Promise<void>
  /** Returns how many bytes wait for the client. */
  end(text: string | Buffer): number
  destroy(): void
}

/** A request whose body has arrived. Its answer is a single write. */
export class PlainExchange implements Exchange {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly bodyBytes: number
  readonly traceId: string
  params: Readonly<Record<string, string>> = {}
  status: number | undefined = undefined
  corsHeaders: Readonly<Record<string, string>> | undefined = undefined
  onGone: (() => void) | undefined = undefined
  onRead: (() => void) | undefined = undefined
  readonly #body: Buffer
  readonly #connection: Connection
  #state: 'worked on' | 'streaming' | 'answered' = 'worked on'

  constructor(
    connection: Connection,
    { method, url, headers }: PlainRequest,
    body: Buffer,
    traceHeader: string,
  ) {
    this.method = method
    this.url = url
    this.headers = headers
    this.traceId = traceId(headers[traceHeader])
    this.bodyBytes = body.length
    this.#body = body
    this.#connection = connection
  }

  get state(): 'worked on' | 'streaming' | 'answered' {
    return this.#state
  }

  get remoteAddress(): string {
    return this.#connection.remoteAddress
  }

  body(): Buffer {
    return this.#body
  }

  send(status: number, headers: AnswerHeaders, content = ''): number {
    return this.#connection.end(this.#head(status, headers) + content)
  }

  sendOn(status: number, headers: readonly HeaderPair[], body: Buffer): number {
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    const head = this.#head(status, {}, lines, !hasDate(headers))
    return this.#connection.end(Buffer.concat([Buffer.from(head, 'latin1'), body]))
  }

  stream(status: number, headers: AnswerHeaders): AnswerStream {
    const connection = this.#connection
    const head = this.#head(status, { ...headers, 'transfer-encoding': 'chunked' })
    this.#state = 'streaming'
    void connection.write(head)
    return {
      write: async content => {
        // An empty chunk would end the answer.
        if (this.#state !== 'streaming' || content === '') return
        await connection.write(`${Buffer.byteLength(content).toString(16)}\r\n${content}\r\n`)
      },
      end: () => {
        if (this.#state !== 'streaming') return
        this.#state = 'answered'
        connection.end('0\r\n\r\n')
      },
    }
  }

  abandon(): void {
    this.#connection.destroy()
  }

  get headerPairs(): readonly HeaderPair[] {
    return Object.entries(this.headers)
  }

  #head(status: number, headers: AnswerHeaders, lines = '', needsDate = true): string {
    if (this.#state !== 'worked on') throw new Error('a request is answered twice')
    const { isLast, keepAliveSeconds } = this.#connection
    let head = `HTTP/1.1 ${status} ${reasons[status] ?? ''}\r\n${lines}`
    for (const name in headers) head += `${name}: ${requirePrintable(headers[name])}\r\n`
    if (needsDate) head += `Date: ${date()}\r\n`
    head += isLast
      ? `Connection: close\r\n\r\n`
      : `Connection: keep-alive\r\nKeep-Alive: timeout=${keepAliveSeconds}\r\n\r\n`
    this.#state = 'answered'
    this.status = status
    return head
  }
}

const hasDate = (headers: readonly HeaderPair[]): boolean =>
  headers.some(([name]) => name.toLowerCase() === 'date')

const unprintable = /[^\x20-\x7e]/

/** Keeps a header value from ending its line and starting another header. */
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
