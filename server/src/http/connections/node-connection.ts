import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { VaultError } from '../../domain/errors.ts'
import { limits } from '../../domain/limits.ts'
import { pace } from '../../domain/pace.ts'
import { asVaultError } from '../problem.ts'
import { NodeExchange } from './node-exchange.ts'
import { refuseRaw } from './refuse-raw.ts'

/** A request that Node's parser has read, and its response. */
type Handled = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly exchange: NodeExchange
}

type ReaderOptions = {
  readonly headerPrefix: string
  readonly traceHeader: string
  readonly serve: (exchange: NodeExchange) => void
  /** What CONNECT is refused with: it names a host to tunnel to, not a path of ours. */
  readonly refuseTunnel: () => VaultError
  readonly now: () => number
}

/**
 * Reads requests with Node's HTTP server, which listens nowhere: it is given connections (its event `connection`), each as a stream
 * of our own. All that is difficult about HTTP stays with it.
 */
export class NodeReader {
  readonly options: ReaderOptions
  readonly #server: Server
  readonly #connections = new Set<NodeConnection>()
  readonly #arrivals: NodeJS.Timeout

  constructor(options: ReaderOptions) {
    this.options = options
    const take = (request: IncomingMessage, response: ServerResponse): void =>
      connectionOf(request).begin(request, response)
    this.#server = createServer({
      // Node would refuse a request without Host, but without a body or a trace id.
      requireHostHeader: false,
      maxHeaderSize: limits.headBytes,
      keepAliveTimeout: pace.idleMs,
    })
    this.#server.on('request', take)
    // Without these listeners, Node would ask for a body before the head was checked, and answer other expectations with a bare 417.
    this.#server.on('checkContinue', take)
    this.#server.on('checkExpectation', take)
    this.#server.on('clientError', (error: Error & { code?: string }, stream) =>
      (stream as unknown as NodeConnection).refuseRest(error),
    )
    this.#server.on('connect', (request: IncomingMessage) =>
      connectionOf(request).refuseRest(options.refuseTunnel(), request.headers[options.traceHeader]),
    )
    // Node checks arrival times of servers that listen.
    this.#arrivals = setInterval(() => {
      for (const connection of this.#connections) connection.refuseIfLate()
    }, pace.arrivalCheckMs).unref()
  }

  /** Serves the connection from here on. These bytes were read from it, and `hasEnded` says that no others follow. */
  take(socket: Socket, bytes: Buffer, { hasEnded, isLast }: { hasEnded: boolean; isLast: boolean }): void {
    const connection = new NodeConnection(socket, bytes, this.options, { hasEnded, isLast })
    this.#connections.add(connection)
    connection.once('close', () => this.#connections.delete(connection))
    this.#server.emit('connection', connection)
  }

  get connections(): number {
    return this.#connections.size
  }

  /** Connections end after their next answer, or soon if nothing is asked. */
  close(): void {
    clearInterval(this.#arrivals)
    for (const connection of this.#connections) connection.close()
  }
}

const connectionOf = ({ socket }: IncomingMessage): NodeConnection => socket as unknown as NodeConnection

/**
 * Stands between a socket and Node's parser. It hands over few bytes at a time, and none while a request is being worked on, so that
 * requests a client sends without waiting are begun one after the other: only safe ones could run side by side (RFC 9112, 9.3.2),
 * and a parsed request takes many times the room of its bytes.
 */
class NodeConnection extends Duplex {
  readonly remoteAddress: string
  readonly #socket: Socket
  readonly #options: ReaderOptions
  /** What was read from the socket and not handed over yet. */
  #bytes: Buffer
  #hasEnded: boolean
  #isWanted = false
  #isLast: boolean
  /** Nothing more is read: what follows a fault is not HTTP. */
  #isOver = false
  #current: Handled | undefined
  /** Those of a piece of bytes that had several; the last of them may still lack a part of its body. */
  readonly #waiting: Handled[] = []
  #isHeadArriving = false
  #arrivalBegan = 0

  constructor(
    socket: Socket,
    bytes: Buffer,
    options: ReaderOptions,
    { hasEnded, isLast }: { hasEnded: boolean; isLast: boolean },
  ) {
    // One piece at a time: the stream asks for the next when Node has parsed the last.
    super({ readableHighWaterMark: 1, allowHalfOpen: true })
    this.remoteAddress = socket.remoteAddress ?? ''
    this.#socket = socket
    this.#bytes = bytes
    this.#options = options
    this.#hasEnded = hasEnded
    this.#isLast = isLast
    // Longer than Keep-Alive announces, so that no client sends into a connection that is just closing.
    socket.setTimeout(pace.idleMs + pace.idleGraceMs)
    socket.on('data', (chunk: Buffer) => this.#keep(chunk))
    socket.on('end', () => this.#ended())
    socket.on('timeout', () => this.#giveUpIfSilent())
    // The socket closes after an error.
    socket.on('error', () => {})
    socket.on('close', () => this.#left())
    if (bytes.length > 0) socket.pause()
  }

  get isLast(): boolean {
    return this.#isLast
  }

  get bytesUnread(): number {
    return this.writableLength + this.#socket.writableLength
  }

  onceRead(listener: () => void): void {
    let isCalled = false
    const call = (): void => {
      if (isCalled) return
      isCalled = true
      listener()
    }
    this.#socket.once('drain', call)
    this.#socket.once('close', call)
  }

  close(): void {
    this.#isLast = true
    const last = this.#lastHandled
    const endUnlessMoreComes = (): void => {
      const waiting = setTimeout(() => {
        if (this.#lastHandled === last) this.destroySoon()
      }, pace.lastRequestMs)
      this.once('close', () => clearTimeout(waiting))
    }
    if (last === undefined) endUnlessMoreComes()
    else afterAnswer(last, endUnlessMoreComes)
  }

  /** Node has read a request. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    this.#isHeadArriving = false
    const exchange = new NodeExchange(request, response, this, this.#options.traceHeader)
    const handled = { request, response, exchange }
    if (this.#current === undefined || isAnswered(this.#current)) this.#serve(handled)
    else this.#waiting.push(handled)
  }

  #serve(handled: Handled): void {
    this.#current = handled
    handled.response.once('close', () => this.#goOn())
    this.#options.serve(handled.exchange)
  }

  #goOn(): void {
    if (this.destroyed) return
    const next = this.#waiting.shift()
    if (next !== undefined) this.#serve(next)
    else this.#feed()
  }

  get #lastHandled(): Handled | undefined {
    return this.#waiting.at(-1) ?? this.#current
  }

  /** A request that is worked on holds up what follows it, but not its own body. */
  get #isHeldUp(): boolean {
    const last = this.#lastHandled
    if (last === undefined) return false
    return this.#waiting.length > 0 ? last.request.complete : !isAnswered(last) && last.request.complete
  }

  override _read(): void {
    this.#isWanted = true
    this.#feed()
  }

  #feed(): void {
    if (!this.#isWanted || this.#isOver || this.#isHeldUp) return
    if (this.#bytes.length === 0) {
      if (this.#hasEnded) this.push(null)
      else this.#socket.resume()
      return
    }
    const last = this.#lastHandled
    if (!this.#isHeadArriving && (last === undefined || last.request.complete)) {
      this.#isHeadArriving = true
      this.#arrivalBegan = this.#options.now()
    }
    this.#isWanted = false
    const piece = this.#bytes.subarray(0, pace.pieceBytes)
    this.#bytes = this.#bytes.subarray(pace.pieceBytes)
    this.push(piece)
  }

  #keep(chunk: Buffer): void {
    if (this.#isOver) return
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    this.#socket.pause()
    this.#feed()
  }

  #ended(): void {
    this.#hasEnded = true
    this.#feed()
    // Once all is answered, a client that said its last word needs no connection.
    const last = this.#lastHandled
    if (last === undefined) return
    afterAnswer(last, () => this.#feed())
  }

  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, encoding, done)
  }

  override _writev(
    chunks: { chunk: Buffer; encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    this.#socket.cork()
    for (const [index, { chunk, encoding }] of chunks.entries())
      this.#socket.write(chunk, encoding, index === chunks.length - 1 ? done : undefined)
    this.#socket.uncork()
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(() => done())
  }

  override _destroy(_error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy()
    done()
  }

  /** Node ends a connection with this where a stream has it. */
  destroySoon(): void {
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
    if (!this.writableEnded) this.end()
  }

  /**
   * What follows is not read any more. Where it is the body of a request, that request is refused in its turn and is the last one;
   * otherwise it is refused once all requests before it are answered.
   */
  refuseRest(error: Error & { code?: string }, sentTraceId?: string | string[]): void {
    this.#isOver = true
    this.#bytes = Buffer.alloc(0)
    // Read on and thrown away, or nobody would notice that the client has gone.
    this.#socket.resume()
    const refuse = (): void => refuseRaw(error, this, this.#options.headerPrefix, sentTraceId)
    const last = this.#lastHandled
    if (last === undefined) refuse()
    else if (last.request.complete) afterAnswer(last, refuse)
    else {
      this.#isLast = true
      last.exchange.failBody(asVaultError(error, 'invalidHttp'))
      afterAnswer(last, () => this.destroySoon())
    }
  }

  refuseIfLate(): void {
    const last = this.#lastHandled
    const isArriving = this.#isHeadArriving || last?.request.complete === false
    if (isArriving && !this.#isOver && this.#options.now() - this.#arrivalBegan > pace.requestArrivalMs)
      this.refuseRest(new VaultError('requestTimeout'))
  }

  /** Nothing moves: the client does not read its answer, or asks nothing. A request that is worked on may take long. */
  #giveUpIfSilent(): void {
    const current = this.#current
    if (current === undefined || current.response.writableEnded || this.#socket.writableEnded) this.destroy()
  }

  #left(): void {
    if (this.#current !== undefined && !isAnswered(this.#current)) this.#current.exchange.onGone?.()
    this.destroy()
  }
}

const isAnswered = ({ response }: Handled): boolean => response.writableFinished || response.destroyed

const afterAnswer = (handled: Handled, act: () => void): void => {
  if (isAnswered(handled)) act()
  else handled.response.once('close', act)
}
