import type { Socket } from 'node:net'
import { pace } from '../../domain/pace.ts'
import type { Exchange } from '../exchange.ts'
import { drained } from '../exchange.ts'
import { PlainExchange } from './plain-exchange.ts'
import { PlainRequestReader } from './plain-request.ts'

export type PlainConnectionOptions = {
  readonly traceHeader: string
  readonly serve: (exchange: Exchange) => void
  /** Hands the connection to Node's parser for good, with the bytes that were read. */
  readonly handOver: (socket: Socket, bytes: Buffer, hasEnded: boolean) => void
  readonly left: (connection: PlainConnection) => void
}

type Held = { readonly head: Buffer; readonly timer: NodeJS.Timeout }

const noBytes = Buffer.alloc(0)

/** Serves one request after another, as long as they are plain (`plain-request.ts`). */
export class PlainConnection {
  readonly remoteAddress: string
  readonly #socket: Socket
  readonly #options: PlainConnectionOptions
  readonly #reader = new PlainRequestReader()
  /** The request that is being answered, until the kernel has taken its answer. */
  #current: PlainExchange | undefined
  /** The next answer is the last one, and says so. */
  #isLast = false
  /** The last answer was sent. */
  #isOver = false
  #hasEnded = false
  /** Bytes that arrive while the previous request is still being answered stay with the socket until then. */
  #isPaused = false
  /** A head whose body is still to come. */
  #held: Held | undefined

  constructor(socket: Socket, options: PlainConnectionOptions) {
    this.remoteAddress = socket.remoteAddress ?? ''
    this.#socket = socket
    this.#options = options
    this.#allowIdling()
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('drain', this.#onDrain)
    socket.on('timeout', this.#onTimeout)
    socket.on('error', this.#onError)
    socket.on('close', this.#onClose)
  }

  get keepAliveSeconds(): number {
    return pace.idleMs / 1_000
  }

  get isLast(): boolean {
    return this.#isLast || this.#hasEnded
  }

  /** Ends the connection after the next answer, or soon if there is nothing to answer. */
  close(): void {
    this.#isLast = true
    if (this.#current === undefined) this.#socket.setTimeout(pace.lastRequestMs)
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Writes a part of an answer. Resolves when more may follow. */
  async write(text: string): Promise<void> {
    if (!this.#socket.write(text)) await drained(this.#socket)
  }

  /** Writes the end of an answer. Returns how many bytes the client has not read yet. */
  end(text: string | Buffer): number {
    const socket = this.#socket
    if (socket.destroyed) return 0
    if (this.isLast) {
      this.#isOver = true
      // Further bytes are discarded. Otherwise nobody would notice that the client has left.
      socket.resume()
      // A client that does not close its side would keep a stopping server alive.
      socket.end(text, () => socket.setTimeout(pace.lastRequestMs))
      return socket.writableLength
    }
    if (!socket.write(text)) return socket.writableLength
    this.#current = undefined
    this.#goOn()
    return 0
  }

  #allowIdling(): void {
    // Longer than Keep-Alive announced, so that no client sends into a connection that is closing.
    this.#socket.setTimeout(pace.idleMs + pace.idleGraceMs)
  }

  readonly #onData = (bytes: Buffer): void => {
    // Another request could not be answered any more.
    if (this.#isOver) return
    if (this.#current !== undefined) {
      this.#isPaused = true
      this.#socket.pause()
      this.#socket.unshift(bytes)
      return
    }
    const held = this.#takeHeld()
    const whole = held === undefined ? bytes : Buffer.concat([held, bytes])
    const request = this.#reader.read(whole)
    if (request === 'head') {
      this.#hold(whole)
      return
    }
    if (request === undefined) {
      this.#handOver(whole)
      return
    }
    // The client may take longer to read the answer.
    if (this.#isLast) this.#allowIdling()
    const { bodyStart } = request
    // Copied, because a small body would keep alive the 64 KiB that Node reads into.
    const body = bodyStart === whole.length ? noBytes : Buffer.from(whole.subarray(bodyStart))
    this.#current = new PlainExchange(this, request, body, this.#options.traceHeader)
    this.#options.serve(this.#current)
  }

  /**
   * Many clients send head and body separately. If the body does not follow at once, Node takes over and can refuse the head
   * before it comes.
   */
  #hold(head: Buffer): void {
    const timer = setTimeout(() => {
      this.#held = undefined
      this.#handOver(head)
    }, pace.bodyFollowsMs)
    this.#held = { head, timer }
  }

  #takeHeld(): Buffer | undefined {
    const held = this.#held
    if (held === undefined) return undefined
    clearTimeout(held.timer)
    this.#held = undefined
    return held.head
  }

  readonly #onDrain = (): void => {
    const answered = this.#current
    if (answered?.state !== 'answered') return
    this.#current = undefined
    answered.onRead?.()
    this.#goOn()
  }

  #goOn(): void {
    if (this.#hasEnded) {
      this.#socket.end()
      return
    }
    if (this.#isLast) this.close()
    if (this.#isPaused) {
      this.#isPaused = false
      this.#socket.resume()
    }
  }

  /** A client that has finished sending may still wait for its answer. */
  readonly #onEnd = (): void => {
    this.#hasEnded = true
    const held = this.#takeHeld()
    // Node decides what to answer to a request without its body.
    if (held !== undefined) this.#handOver(held)
    // Not `end`: a client that does not close its side would keep a stopping server alive.
    else if (this.#current === undefined) this.#socket.destroySoon()
  }

  /** The connection is silent: the client does not read its answer, or asks nothing. A request in progress may take long. */
  readonly #onTimeout = (): void => {
    const isWorkedOn = this.#current !== undefined && this.#current.state !== 'answered'
    if (!isWorkedOn || this.#socket.writableLength > 0) this.#socket.destroy()
  }

  /** Nothing to do, because the socket closes after an error. */
  readonly #onError = (): void => {}

  readonly #onClose = (): void => {
    this.#takeHeld()
    const current = this.#current
    this.#current = undefined
    current?.onGone?.()
    current?.onRead?.()
    this.#options.left(this)
  }

  /** From now on, the socket belongs to Node's reader. */
  #handOver(bytes: Buffer): void {
    const socket = this.#socket
    socket.setTimeout(0)
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('drain', this.#onDrain)
    socket.off('timeout', this.#onTimeout)
    socket.off('error', this.#onError)
    socket.off('close', this.#onClose)
    this.#options.left(this)
    this.#options.handOver(socket, bytes, this.#hasEnded)
  }
}
