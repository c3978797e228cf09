import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'

/**
 * How often each thing came of a request (a status, a 503 without Retry-After, a cut, no answer) or of a connection (opened,
 * refused).
 */
export type Tally = Record<string, number>

/** Not the victim's address: whoever opens thousands of connections per second uses up the ports of his own only. */
const localAddress = '127.0.0.2'
const refusedPauseMs = 50
/** JSON does not hold it. */
const lastChunk = '\r\n0\r\n\r\n'

/**
 * One connection of the attacker. It is opened when something is sent, and again after it was closed. It keeps no body: a
 * client that did would be busier than the server.
 */
export class Connection {
  readonly #url: URL
  readonly #tally: Tally
  readonly #over: AbortSignal
  #socket: Socket | undefined
  #head: Buffer = Buffer.alloc(0)
  #bodyLeft = 0
  /** The end of what was read of a body in chunks. */
  #chunked: Buffer | undefined
  #isLast = false
  #outcome = ''
  #due = 0
  #settle: () => void = () => {}

  constructor(url: string, tally: Tally, over: AbortSignal) {
    this.#url = new URL(url)
    this.#tally = tally
    this.#over = over
  }

  /** Answers that are still to come. */
  get due(): number {
    return this.#due
  }

  /** Sends requests, and resolves once each has its answer, or the connection is closed. */
  async ask(bytes: Uint8Array, answers = 1): Promise<void> {
    const socket = await this.open()
    if (socket === undefined) return
    await new Promise<void>(resolve => {
      this.#due = answers
      this.#settle = resolve
      socket.write(bytes)
    })
  }

  /** Resolves once the system has the bytes, or the connection is closed. */
  async send(bytes: Uint8Array | string): Promise<void> {
    const socket = await this.open()
    if (socket !== undefined) await new Promise<void>(resolve => socket.write(bytes, () => resolve()))
  }

  /** The same, but nothing that the server sends is read. */
  async sendAndReadNothing(bytes: Uint8Array): Promise<void> {
    const socket = await this.open()
    socket?.pause()
    await this.send(bytes)
  }

  /** Says that nothing more will be sent, but goes on reading. */
  end(): void {
    this.#socket?.end()
  }

  close(): void {
    this.#due = 0
    this.#socket?.destroy()
  }

  reset(): void {
    this.#due = 0
    this.#socket?.resetAndDestroy()
  }

  /** Until the server closes the connection, or the attack is over. */
  async closed(): Promise<void> {
    const socket = this.#socket
    if (socket === undefined || socket.destroyed) return
    await new Promise(resolve => socket.once('close', resolve))
  }

  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#over }).catch(() => {})
  }

  async open(): Promise<Socket | undefined> {
    if (this.#socket?.writable) return this.#socket
    this.#socket?.destroy()
    if (this.#over.aborted) return undefined
    const { hostname: host, port, protocol } = this.#url
    const to = { host, port: Number(port), localAddress, allowHalfOpen: true }
    const isTls = protocol === 'https:'
    const socket = isTls ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to)
    this.#socket = socket
    this.#head = Buffer.alloc(0)
    this.#bodyLeft = 0
    this.#chunked = undefined
    this.#isLast = false
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('end', () => socket.destroy())
    socket.on('error', () => {})
    socket.on('close', () => {
      if (socket !== this.#socket) return
      if (this.#due > 0) this.#count('cut', this.#due)
      this.#due = 0
      this.#settle()
    })
    const isOpen = await new Promise<boolean>(resolve => {
      socket.once(isTls ? 'secureConnect' : 'connect', () => resolve(true))
      socket.once('close', () => resolve(false))
    })
    if (isOpen) {
      this.#count('opened')
      return socket
    }
    if (!this.#over.aborted) this.#count('refused')
    await this.pause(refusedPauseMs)
    return undefined
  }

  #read(chunk: Buffer): void {
    let rest = chunk
    while (rest.length > 0) {
      if (this.#chunked !== undefined) {
        const seen = Buffer.concat([this.#chunked, rest])
        const end = seen.indexOf(lastChunk)
        this.#chunked = end === -1 ? seen.subarray(-lastChunk.length) : undefined
        if (end === -1) return
        this.#answered()
        rest = seen.subarray(end + lastChunk.length)
        continue
      }
      const body = Math.min(rest.length, this.#bodyLeft)
      this.#bodyLeft -= body
      rest = rest.subarray(body)
      if (this.#bodyLeft > 0) return
      if (body > 0) this.#answered()
      if (rest.length === 0) return
      const bytes = this.#head.length === 0 ? rest : Buffer.concat([this.#head, rest])
      const end = bytes.indexOf('\r\n\r\n')
      this.#head = end === -1 ? bytes : Buffer.alloc(0)
      if (end === -1) return
      rest = bytes.subarray(end + 4)
      this.#readHead(bytes.toString('latin1', 0, end))
    }
  }

  #readHead(head: string): void {
    const status = head.slice(9, 12)
    // 100 Continue is not an answer.
    if (status.startsWith('1')) return
    this.#outcome = status === '503' && !/^retry-after:/im.test(head) ? '503 without Retry-After' : status
    this.#isLast = /^connection: close/im.test(head)
    this.#bodyLeft = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
    if (/^transfer-encoding: chunked/im.test(head)) this.#chunked = Buffer.from('\r\n')
    else if (this.#bodyLeft === 0) this.#answered()
  }

  #answered(): void {
    this.#count(this.#outcome)
    const isDone = this.#due <= 1
    this.#due = Math.max(0, this.#due - 1)
    if (this.#isLast) this.#socket?.destroy()
    if (isDone) this.#settle()
  }

  #count(outcome: string, times = 1): void {
    this.#tally[outcome] = (this.#tally[outcome] ?? 0) + times
  }
}
