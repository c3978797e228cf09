import type { Socket } from 'node:net'
import { pace } from '../../domain/pace.ts'
import type { Serve } from '../exchange.ts'
import { type Answering, PlainExchange } from './exchange.ts'
import { PlainRequestReader } from './read-request.ts'
import type { Route } from './routes.ts'
import { type EndSharing, shareReads } from './shared-reads.ts'

/** Where a request leads; undefined if Fastify must find that out. */
export type FindRoute = (method: string, url: string) => Route<Serve> | undefined

type ConnectionOptions = {
  readonly idleMs: number
  readonly traceHeader: string
  readonly findRoute: FindRoute
  readonly handOver: () => void
  readonly left: () => void
}

type Held = { readonly head: Buffer; readonly timer: NodeJS.Timeout }

const noBytes = Buffer.alloc(0)

/** Serves one request after the other, as long as they are plain. */
export class PlainConnection implements Answering {
  readonly socket: Socket
  readonly #options: ConnectionOptions
  readonly #reader = new PlainRequestReader()
  readonly #endSharing: EndSharing
  /** From the request until the kernel has taken its answer. */
  #isBusy = false
  #isAnswering = false
  /** The next answer is the last, as it says. */
  #isLast = false
  /** The last answer was given. */
  #isOver = false
  #hasEnded = false
  /** Bytes that arrive while the previous request is still being answered stay with the socket until then. */
  #isPaused = false
  /** A head whose body is still to come. */
  #held: Held | undefined

  constructor(socket: Socket, options: ConnectionOptions) {
    this.socket = socket
    this.#options = options
    this.#allowIdling()
    this.#endSharing = shareReads(socket, this.#onData)
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('drain', this.#onDrain)
    socket.on('timeout', this.#onTimeout)
    socket.on('error', this.#onError)
    socket.on('close', this.#onClose)
  }

  get keepAliveSeconds(): number {
    return Math.floor(this.#options.idleMs / 1_000)
  }

  get isLast(): boolean {
    return this.#isLast || this.#hasEnded
  }

  /** Ends the connection after the next answer, or soon if there is nothing to answer. */
  close(): void {
    this.#isLast = true
    if (!this.#isBusy) this.socket.setTimeout(pace.lastRequestMs)
  }

  #allowIdling(): void {
    // Longer than Keep-Alive announced, so that no client sends into a connection that is just closing.
    this.socket.setTimeout(this.#options.idleMs + pace.idleGraceMs)
  }

  /** Sends the answer to the request that is being worked on. */
  answer(text: string): void {
    this.#isAnswering = false
    if (this.isLast) {
      this.#isOver = true
      this.socket.end(text)
      return
    }
    this.#isBusy = !this.socket.write(text)
    if (!this.#isBusy) this.#goOn()
  }

  /** Copies what it keeps of the bytes, which may be overwritten by the next read. */
  readonly #onData = (bytes: Buffer): void => {
    // A further request could no longer be answered.
    if (this.#isOver) return
    if (this.#isBusy) {
      this.#isPaused = true
      this.socket.pause()
      this.socket.unshift(Buffer.from(bytes))
      return
    }
    const held = this.#takeHeld()
    const whole = held === undefined ? bytes : Buffer.concat([held, bytes])
    const request = this.#reader.read(whole)
    if (request === 'head') {
      this.#hold(Buffer.from(whole))
      return
    }
    const route = request && this.#options.findRoute(request.method, request.url)
    if (request === undefined || route === undefined) {
      this.#handOver(whole)
      return
    }
    this.#isBusy = true
    this.#isAnswering = true
    // Its client may take longer to read the answer.
    if (this.#isLast) this.#allowIdling()
    const { bodyStart } = request
    const body = bodyStart === whole.length ? noBytes : Buffer.from(whole.subarray(bodyStart))
    route.to(new PlainExchange(this, request, route.params, body, this.#options.traceHeader))
  }

  /** Many clients send head and body apart. If the body does not follow at once, Node can refuse the head before it comes. */
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
    this.#isBusy = false
    this.#goOn()
  }

  #goOn(): void {
    if (this.#hasEnded) {
      this.socket.end()
      return
    }
    if (this.#isLast) this.close()
    if (this.#isPaused) {
      this.#isPaused = false
      this.socket.resume()
    }
  }

  /** A client that has finished sending may still wait for its answer. */
  readonly #onEnd = (): void => {
    this.#hasEnded = true
    const held = this.#takeHeld()
    if (held !== undefined) {
      this.#leave()
      // What has ended takes nothing back, so Node is told of both: it says what a request without its body is answered.
      this.socket.emit('data', held)
      this.socket.emit('end')
      return
    }
    // Not `end`: a client that does not close its side would keep a stopping server from ending.
    if (!this.#isBusy) this.socket.destroySoon()
  }

  readonly #onTimeout = (): void => {
    if (!this.#isAnswering) this.socket.destroy()
  }

  /** Nothing to do: the socket closes after an error. */
  readonly #onError = (): void => {}

  readonly #onClose = (): void => {
    this.#takeHeld()
    this.#options.left()
  }

  #handOver(bytes: Buffer): void {
    this.socket.pause()
    this.#leave()
    this.socket.unshift(Buffer.from(bytes))
    this.socket.resume()
  }

  /** From here on, the socket is Node's. */
  #leave(): void {
    const { socket } = this
    socket.setTimeout(0)
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('drain', this.#onDrain)
    socket.off('timeout', this.#onTimeout)
    socket.off('error', this.#onError)
    socket.off('close', this.#onClose)
    this.#endSharing()
    this.#options.left()
    this.#options.handOver()
  }
}
