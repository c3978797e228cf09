import type { Endpoint } from '../contract/endpoint.ts'
import { getOwn, isJsonObject } from '../domain/json/json.ts'
import type { ByteAccount } from '../scheduling/byte-budget.ts'
import { type Answer, jsonContentType, ReadyText } from './call.ts'
import type { AnswerHeaders, Exchange } from './exchange.ts'
import { Replayed } from './idempotency.ts'

/** Sends what an operation answered. What the client does not read at once is held against its key until it does. */
export const answerSender = ({ status, location }: Endpoint, traceHeader: string) => {
  const folder = location?.replace(':id', '')
  return (exchange: Exchange, answered: Answer | Replayed, memory: ByteAccount): void => {
    const isReplayed = answered instanceof Replayed
    const answer = isReplayed ? answered.answer : answered
    const headers: AnswerHeaders = { 'cache-control': 'no-store' }
    headers[traceHeader] = exchange.traceId
    let content: string | undefined
    if (answer instanceof ReadyText) {
      Object.assign(headers, answer.headers)
      headers['content-type'] = answer.type
      content = answer.content
    } else if (answer !== undefined && status !== 204) {
      // Taken from the answer, so that a replay has it too (C1).
      if (folder !== undefined && isJsonObject(answer))
        headers.location = folder + encodeURIComponent(String(getOwn(answer, 'id')))
      headers['content-type'] = jsonContentType
      content = `${JSON.stringify(answer)}\n`
    }
    if (content !== undefined) headers['content-length'] = Buffer.byteLength(content)
    if (isReplayed) headers['idempotent-replayed'] = 'true'
    if (exchange.corsHeaders !== undefined) Object.assign(headers, exchange.corsHeaders)
    const unread = exchange.send(status, headers, content)
    memory.keep(unread)
    if (unread > 0) exchange.onRead = () => memory.keep(0)
  }
}
