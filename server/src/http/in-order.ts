import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

type Exchange = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The one that must be answered first; undefined once it is. */
  before: Exchange | undefined
}

/** The connections that Node's HTTP server serves. The plain lane, which has the others, keeps its own order. */
export type InOrder = {
  /** For who has to say something on a connection besides: does it once all whole requests are answered. */
  afterAnswers(socket: Socket, act: () => void): void
}

/**
 * Requests that a client sends without waiting for answers are worked on one after the other, in their order: only safe
 * ones might go side by side (RFC 9112, 9.3.2), and a thousand of them on one connection are not a thousand at once.
 */
export const inOrder = (server: Server, idleMs: number): InOrder => {
  const [route] = server.listeners('request') as ((
    request: IncomingMessage,
    response: ServerResponse,
  ) => void)[]
  if (route === undefined) throw new Error('the server takes no requests')
  /** By connection, what was asked last. */
  const latest = new Map<Socket, Exchange>()

  const isAnswered = ({ response }: Exchange): boolean => response.writableFinished || response.destroyed

  const after = (exchange: Exchange | undefined, act: () => void): void => {
    if (exchange === undefined || isAnswered(exchange)) act()
    else exchange.response.once('close', act)
  }

  const take = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request
    const before = latest.get(socket)
    if (before === undefined) socket.once('close', () => latest.delete(socket))
    const exchange: Exchange = { request, response, before }
    latest.set(socket, exchange)
    after(before, () => {
      exchange.before = undefined
      if (!socket.destroyed) route.call(server, request, response)
    })
  }

  server.removeAllListeners('request')
  server.on('request', take)
  // An expectation other than 100-continue is answered like any request; without a listener Node would answer a bare 417.
  server.on('checkExpectation', take)

  // Whoever does not read the answer, or says nothing any more, is given up; work that takes its time is not.
  server.setTimeout(idleMs, socket => {
    const asked = latest.get(socket)
    if (asked === undefined || asked.response.writableEnded) socket.destroy()
  })

  // When the server closes. Node's own would count an answer as sent as soon as it is written, and cut it short.
  server.closeIdleConnections = () => {
    for (const [socket, exchange] of latest)
      after(exchange, () => {
        if (latest.get(socket) === exchange) socket.destroySoon()
      })
  }

  return {
    afterAnswers: (socket, act) => {
      const asked = latest.get(socket)
      if (asked === undefined || asked.request.complete) after(asked, act)
      // The fault is in the body of this one, which may have been answered without it: then all was said.
      else if (isAnswered(asked)) socket.destroy()
      else after(asked.before, act)
    },
  }
}
