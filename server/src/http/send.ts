import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '../contract/endpoint.ts'
import { getOwn, isJsonObject } from '../domain/json/json.ts'
import { type Answer, ReadyText } from './handlers.ts'
import { Replayed } from './idempotency.ts'

/**
 * Bypasses Fastify's reply, which would go over each header and the payload once more. That costs as much as finding the token.
 */
export const sender = ({ status, location }: Endpoint, traceHeader: string) => {
  const folder = location?.replace(':id', '')
  return (request: FastifyRequest, reply: FastifyReply, answered: Answer | Replayed): void => {
    const isReplayed = answered instanceof Replayed
    const answer = isReplayed ? answered.answer : answered
    const headers: Record<string, string | number> = { 'cache-control': 'no-store' }
    headers[traceHeader] = request.id
    let content: string | undefined
    if (answer instanceof ReadyText) {
      Object.assign(headers, answer.headers)
      headers['content-type'] = answer.type
      content = answer.content
    } else if (answer !== undefined && status !== 204) {
      // Taken from the answer, so that a replay has it too (C1).
      if (folder !== undefined && isJsonObject(answer))
        headers.location = folder + encodeURIComponent(String(getOwn(answer, 'id')))
      headers['content-type'] = 'application/json; charset=utf-8'
      content = JSON.stringify(answer)
    }
    if (content !== undefined) headers['content-length'] = Buffer.byteLength(content)
    if (isReplayed) headers['idempotent-replayed'] = 'true'
    if (isDraining(reply)) headers.connection = 'close'
    if (request.corsHeaders !== undefined) Object.assign(headers, request.corsHeaders)
    reply.hijack()
    reply.raw.writeHead(status, headers)
    reply.raw.end(content)
  }
}

/** While the service stops, an answer must close its connection, which would otherwise be kept alive. */
export const isDraining = (reply: FastifyReply): boolean => !reply.server.server.listening
