import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { VaultError } from '../../domain/errors.ts'
import { limits } from '../../domain/limits.ts'
import { pace } from '../../domain/pace.ts'
import { asVaultError } from '../problem.ts'
import { NodeExchange } from './node-exchange.ts'
import { ParseShares } from './parse-shares.ts'
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
  /** Makes the refusal of CONNECT, which names a host to tunnel to, not a path of ours. */
  readonly refuseTunnel: () => VaultError
  /** Called for what never became a request. */
  readonly noteMalformed?: () => void
  readonly now: () => number
}

/**
 * Reads requests with an HTTP server of Node that listens nowhere. It gets connections through its event `connection`, each as a
 * stream of our own. Node does everything that is difficult about HTTP.
 */
export class NodeReader {
  readonly #options: ReaderOptions
  readonly #server: Server
  readonly #connections = new Set<NodeConnection>()
  readonly #shares = new ParseShares()
  readonly #arrivals: NodeJS.Timeout
  #isClosing = false

  constructor(options: ReaderOptions) {
    this.#options = options
    const take = (request: IncomingMessage, response: ServerResponse): void =>
      connectionOf(request).begin(request, response)
    this.#server = createServer({
      // Node would refuse a request without Host, but its answer would have no body and no trace id.
      requireHostHeader: false,
      maxHeaderSize: limits.headBytes,
      keepAliveTimeout: pace.idleMs,
    })
    // Node silently drops headers beyond a thousand. `maxHeaderSize` limits them already.
    this.#server.maxHeadersCount = 0
    this.#server.on('request', take)
    // Without these listeners, Node would ask for a body before the head is checked, and answer other expectations with an empty
    // 417.
    this.#server.on('checkContinue', take)
    this.#server.on('checkExpectation', take)
    this.#server.on('clientError', (error: Error & { code?: string }, stream) =>
      (stream as unknown as NodeConnection).refuseRest(error),
    )
    this.#server.on('connect', (request: IncomingMessage) =>
      connectionOf(request).refuseRest(options.refuseTunnel(), request.headers[options.traceHeader]),
    )
    // Node checks arrival times only for servers that listen.
    this.#arrivals = setInterval(() => {
      for (const connection of this.#connections) connection.refuseIfLate()
    }, pace.arrivalCheckMs).unref()
  }

  /** Serves the connection from now on. `bytes` were already read from it; `hasEnded` says that no more follow. */
  take(socket: Socket, bytes: Buffer, hasEnded: boolean): void {
    const connection = new NodeConnection(socket, bytes, hasEnded, this.#options, this.#shares)
    this.#connections.add(connection)
    connection.once('close', () => this.#connections.delete(connection))
    // Shared out, too: setting up a parser takes 0.2 ms, and thousands of connections may need one at once.
    this.#shares.take(() => {
      if (!connection.destroyed) this.#server.emit('connection', connection)
    })
    if (this.#isClosing) connection.close()
  }

  /** Ends connections after their next answer, or soon if they are idle. */
  close(): void {
    this.#isClosing = true
    clearInterval(this.#arrivals)
    for (const connection of this.#connections) connection.close()
  }
}

const connectionOf = ({ socket }: IncomingMessage): NodeConnection => socket as unknown as NodeConnection

/**
 * Stands between a socket and Node's parser. It passes on few bytes at a time, and none while a request is being worked on, so
 * pipelined requests begin one after another. Only safe requests could run in parallel (RFC 9112, 9.3.2), and a parsed request
 * takes many times the memory of its bytes.
 */
class NodeConnection extends Duplex {
  readonly remoteAddress: string
  readonly #socket: Socket
  readonly #options: ReaderOptions
  readonly #shares: ParseShares
  /** Bytes that were read from the socket and not passed on yet. */
  #bytes: Buffer
  #hasEnded: boolean
  #isWanted = false
  /** The next answer is the last one. */
  #isLast = false
  /** Nothing more is read, because what follows a fault is not HTTP. */
  #isOver = false
  /** The request whose answer is not complete. */
  #current: Handled | undefined
  /** Further requests in the same piece of bytes. */
  readonly #waiting: Handled[] = []
  /** The latest request that Node has read. A part of its body may still be missing. */
  #latest: Handled | undefined
  #isHeadArriving = false
  #arrivalBegan = 0

  constructor(socket: Socket, bytes: Buffer, hasEnded: boolean, options: ReaderOptions, shares: ParseShares) {
    // One piece at a time: the stream asks for the next one when Node has parsed the last.
    super({ readableHighWaterMark: 1, allowHalfOpen: true })
    this.remoteAddress = socket.remoteAddress ?? ''
    this.#socket = socket
    this.#bytes = bytes
    this.#options = options
    this.#shares = shares
    this.#hasEnded = hasEnded
    // Longer than Keep-Alive announces, so that no client sends into a connection that is closing.
    socket.setTimeout(pace.idleMs + pace.idleGraceMs)
    socket.on('data', (chunk: Buffer) => this.#keep(chunk))
    socket.on('end', () => this.#ended())
    socket.on('timeout', () => this.#giveUpIfSilent())
    // After an error, the socket closes, and this stream with it. After CONNECT, Node no longer listens for errors.
    socket.on('error', () => {})
    this.on('error', () => {})
    socket.on('close', () => this.destroy())
    if (bytes.length > 0) socket.pause()
  }

  /** Whether the connection ends with this answer. */
  endsWith(exchange: NodeExchange): boolean {
    return this.#isLast || (this.#isOver && this.#isIncomplete && this.#latest?.exchange === exchange)
  }

  get bytesUnread(): number {
    // The stream still counts bytes for a moment after the kernel has taken them.
    return this.#socket.destroyed || this.#socket.writableLength === 0 ? 0 : this.writableLength
  }

  close(): void {
    this.#isLast = true
    this.#afterAnswers(() => {
      const latest = this.#latest
      const waiting = setTimeout(() => {
        if (this.#latest === latest) this.destroySoon()
      }, pace.lastRequestMs)
      this.once('close', () => clearTimeout(waiting))
    })
  }

  /** Node has read a request. */
  begin(request: IncomingMessage, response: ServerResponse): void {
    this.#isHeadArriving = false
    const exchange = new NodeExchange(request, response, this, this.#options.traceHeader)
    const handled = { request, response, exchange }
    this.#latest = handled
    response.once('close', () => this.#goOn())
    if (this.#current !== undefined) this.#waiting.push(handled)
    else {
      this.#current = handled
      this.#options.serve(exchange)
    }
  }

  /** An answer is complete. Each pipelined request begins in an iteration of its own, so that other connections get in. */
  #goOn(): void {
    this.#current = this.#waiting.shift()
    // An idle connection keeps no request.
    if (this.#current === undefined && !this.#isIncomplete) this.#latest = undefined
    // A request after the last answer could not be answered.
    if (this.destroyed || this.writableEnded) return
    const next = this.#current
    if (next === undefined && this.#bytes.length === 0) this.#feed()
    else
      setImmediate(() => {
        if (this.destroyed) return
        if (next === undefined) this.#feed()
        else this.#options.serve(next.exchange)
      })
  }

  get #isIncomplete(): boolean {
    return this.#latest?.request.complete === false
  }

  override _read(): void {
    this.#isWanted = true
    this.#feed()
  }

  #feed(): void {
    if (this.#isOver) return
    if (this.#bytes.length === 0 && !this.#hasEnded) {
      // Even if nothing can be passed on now: otherwise nobody would notice that the client leaves.
      if (this.#socket.isPaused()) this.#socket.resume()
      return
    }
    // A request in progress holds back what follows it, but not its own body.
    if (!this.#isWanted || (this.#current !== undefined && !this.#isIncomplete)) return
    this.#isWanted = false
    this.#shares.take(() => this.#hand())
  }

  #hand(): void {
    if (this.#isOver || this.destroyed) return
    const piece = this.#bytes.subarray(0, pace.pieceBytes)
    this.#bytes = this.#bytes.subarray(pace.pieceBytes)
    if (piece.length === 0) {
      this.push(null)
      return
    }
    if (!this.#isHeadArriving && !this.#isIncomplete) {
      this.#isHeadArriving = true
      this.#arrivalBegan = this.#options.now()
    }
    this.push(piece)
    this.#feed()
  }

  #keep(chunk: Buffer): void {
    if (this.#isOver) return
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    this.#feed()
    if (this.#bytes.length > 0) this.#socket.pause()
  }

  #ended(): void {
    this.#hasEnded = true
    this.#feed()
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
    const current = this.#current
    if (current?.response.writableFinished === false) {
      current.exchange.failBody(new VaultError('invalidHttp'))
      current.exchange.onGone?.()
    }
    done()
  }

  /** Node ends a connection with this where a stream has it. */
  destroySoon(): void {
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
    if (!this.writableEnded) this.end()
  }

  /**
   * Stops reading. If the fault is in the body of a request, that request is refused in order and is the last one. Otherwise the
   * refusal follows the answers to all requests before it.
   */
  refuseRest(error: Error & { code?: string }, sentTraceId?: string | string[]): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#bytes = Buffer.alloc(0)
    // Read and discarded. Otherwise nobody would notice that the client has left.
    this.#socket.resume()
    if (this.#isIncomplete) {
      this.#latest?.exchange.failBody(asVaultError(error, 'invalidHttp'))
      this.#afterAnswers(() => this.destroySoon())
    } else {
      this.#options.noteMalformed?.()
      this.#afterAnswers(() => refuseRaw(error, this, this.#options.headerPrefix, sentTraceId))
    }
  }

  #afterAnswers(act: () => void): void {
    if (this.#current === undefined) act()
    else this.#latest?.response.once('close', act)
  }

  refuseIfLate(): void {
    const isArriving = this.#isHeadArriving || this.#isIncomplete
    if (isArriving && this.#options.now() - this.#arrivalBegan > pace.requestArrivalMs)
      this.refuseRest(new VaultError('requestTimeout'))
  }

  /** The connection is silent: the client does not read its answer, or asks nothing. A request in progress may take long. */
  #giveUpIfSilent(): void {
    const isWorkedOn = this.#current?.response.writableEnded === false
    if (!isWorkedOn || this.#socket.writableLength > 0 || this.#socket.writableEnded) this.destroy()
  }
}
