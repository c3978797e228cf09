import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pace } from '../../domain/pace.ts'
import { readByPieces } from './read-by-pieces.ts'

/** A request that Node has read, and its response. */
type Handled = { readonly request: IncomingMessage; readonly response: ServerResponse }

/** The requests of one connection. */
type Line = {
  /** The one that is being answered, or the last one that was. */
  begun: Handled
  readonly waiting: Handled[]
}

/** The connections that Node's HTTP server serves. The plain lane serves the others, and keeps its own order. */
export type InOrder = {
  /** Runs `act`, which writes to the connection outside any answer, once all complete requests are answered. */
  afterAnswers(socket: Socket, act: () => void): void
}

/**
 * Requests that a client sends without waiting for answers are worked on one after the other, in their order: only safe ones
 * could run side by side (RFC 9112, 9.3.2), and a thousand on one connection must not become a thousand at once. Each begins in
 * its own turn of the event loop, so that other connections are answered in between. Nothing more is read while requests wait,
 * because a parsed request takes many times the room of its bytes.
 */
export const inOrder = (server: Server, idleMs: number): InOrder => {
  const [route] = server.listeners('request') as ((
    request: IncomingMessage,
    response: ServerResponse,
  ) => void)[]
  if (route === undefined) throw new Error('the server takes no requests')
  const lines = new Map<Socket, Line>()

  const isAnswered = ({ response }: Handled): boolean => response.writableFinished || response.destroyed

  const after = (handled: Handled, act: () => void): void => {
    if (isAnswered(handled)) act()
    else handled.response.once('close', act)
  }

  const lastOf = ({ begun, waiting }: Line): Handled => waiting.at(-1) ?? begun

  const begin = ({ request, response }: Handled): void => {
    route.call(server, request, response)
  }

  const take = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request
    const handled: Handled = { request, response }
    const line = lines.get(socket)
    if (line === undefined) {
      const first: Line = { begun: handled, waiting: [] }
      lines.set(socket, first)
      socket.once('end', () => reportIfCutOff(lastOf(first).request))
      socket.once('close', () => lines.delete(socket))
      begin(handled)
    } else if (line.waiting.length === 0 && isAnswered(line.begun)) {
      line.begun = handled
      begin(handled)
    } else if (line.waiting.push(handled) === 1) goOn(socket, line)
  }

  /** Of a body whose head asks for an upgrade, Node's parser reports no fault, not even that the client has left. */
  const reportIfCutOff = ({ complete, socket }: IncomingMessage): void => {
    const isReported = socket.listenerCount('data') === 0
    if (!complete && !isReported) server.emit('clientError', new Error('the body is cut off'), socket)
  }

  const goOn = (socket: Socket, line: Line): void =>
    after(line.begun, () =>
      setImmediate(() => {
        const next = line.waiting.shift()
        if (next === undefined || socket.destroyed) return
        line.begun = next
        if (line.waiting.length === 0) socket.resume()
        else goOn(socket, line)
        begin(next)
      }),
    )

  readByPieces(server, socket => (lines.get(socket)?.waiting.length ?? 0) > 0)

  server.removeAllListeners('request')
  server.on('request', take)
  // Without these listeners, Node would ask for a body before the head was checked (`bodyBytes` asks for it), and answer other
  // expectations with a bare 417.
  server.on('checkContinue', take)
  server.on('checkExpectation', take)

  // Gives up on clients that do not read their answer or have gone silent, but not while a request is being worked on. One that was
  // refused in the middle of its body (`refuse-raw.ts`) has its answer, though its response never ends.
  server.setTimeout(idleMs, socket => {
    const line = lines.get(socket)
    if (line === undefined || line.begun.response.writableEnded || socket.writableEnded) socket.destroy()
  })

  const closeUnlessMoreComes = (socket: Socket, line: Line): void => {
    const last = lastOf(line)
    after(last, () => {
      const waiting = setTimeout(() => {
        if (lastOf(line) === last) socket.destroySoon()
      }, pace.lastRequestMs)
      socket.once('close', () => clearTimeout(waiting))
    })
  }

  // Called when the server closes. Node's own version counts an answer as sent as soon as it is written, and would cut it short.
  server.closeIdleConnections = () => {
    for (const [socket, line] of lines) closeUnlessMoreComes(socket, line)
  }

  return {
    afterAnswers: (socket, act) => {
      const line = lines.get(socket)
      if (line === undefined) {
        act()
        return
      }
      const last = lastOf(line)
      if (last.request.complete) after(last, act)
      // The fault is in the body of the last request. If that was answered without its body, nothing is left to say.
      else if (isAnswered(last) || last.response.writableEnded) after(last, () => socket.destroySoon())
      else if (last === line.begun) act()
      else after(line.waiting.at(-2) ?? line.begun, act)
    },
  }
}
