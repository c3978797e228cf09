import type { Endpoint } from '../contract/endpoint.ts'
import { ownHeaders } from '../contract/headers.ts'
import { VaultError } from '../domain/errors.ts'
import { getOwn, isJsonObject } from '../domain/json/json.ts'
import { isPage, type Page } from '../operations/finding/page.ts'
import type { Caller, Vault } from '../operations/vault/vault.ts'
import type { ByteAccount } from '../scheduling/byte-budget.ts'
import type { AnswerHeaders, AnswerStream, Exchange } from './exchange.ts'
import { type Answer, jsonContentType, ReadyText, StreamedText } from './handlers.ts'
import { Replayed } from './idempotency.ts'
import { answerRecorder, describeReplay, partRecorder, type Receipt } from './recording.ts'
import type { Visit } from './visit.ts'

/** Sends what an operation answered. What the client does not read at once is held against its key until it does. */
export const answerSender = (
  { status, location }: Endpoint,
  { vault, headerPrefix }: { readonly vault: Vault; readonly headerPrefix: string },
) => {
  const { traceId: traceHeader, receipt: receiptHeader } = ownHeaders(headerPrefix)
  const recordAnswer = answerRecorder(vault)
  const folder = location?.replace(':id', '')
  const withReceipt = (headers: AnswerHeaders, receipt: Receipt): AnswerHeaders => {
    if (receipt !== undefined) headers[receiptHeader] = receipt
    return headers
  }
  const sendPage = pageSender(vault, withReceipt)
  const sendStreamed = streamSender(vault, withReceipt)
  return (
    exchange: Exchange,
    answered: Answer | Replayed,
    { work, memory }: Pick<Visit, 'work' | 'memory'>,
    caller: Caller | undefined,
  ): undefined | Promise<void> => {
    const isReplayed = answered instanceof Replayed
    const answer = isReplayed ? answered.answer : answered
    const headers: AnswerHeaders = { 'cache-control': 'no-store' }
    headers[traceHeader] = exchange.traceId
    if (exchange.corsHeaders !== undefined) Object.assign(headers, exchange.corsHeaders)
    if (isPage(answer)) {
      headers['content-type'] = jsonContentType
      return sendPage(exchange, status, headers, answer, { work, memory }, caller)
    }
    if (answer instanceof StreamedText) {
      headers['content-type'] = answer.type
      return sendStreamed(exchange, status, headers, answer, { work, memory }, caller)
    }
    let content: string | undefined
    if (answer instanceof ReadyText) {
      Object.assign(headers, answer.headers)
      headers['content-type'] = answer.type
      content = answer.content
      headers['content-length'] = Buffer.byteLength(content)
    } else if (answer !== undefined && status !== 204) {
      // Taken from the answer, so that a replay has this header too (C1).
      if (folder !== undefined && isJsonObject(answer))
        headers.location = folder + encodeURIComponent(String(getOwn(answer, 'id')))
      headers['content-type'] = jsonContentType
      const json = JSON.stringify(answer)
      // Measured before the line end is added, because V8 would have to copy a text of two pieces.
      headers['content-length'] = Buffer.byteLength(json) + 1
      content = `${json}\n`
    }
    if (isReplayed) {
      headers['idempotent-replayed'] = 'true'
      if (caller !== undefined) describeReplay(caller, answered)
    }
    const receipt = recordAnswer(caller)
    if (receipt instanceof Promise)
      return receipt.then(given => sendWhole(exchange, status, withReceipt(headers, given), content, memory))
    sendWhole(exchange, status, withReceipt(headers, receipt), content, memory)
  }
}

const sendWhole = (
  exchange: Exchange,
  status: number,
  headers: AnswerHeaders,
  content: string | undefined,
  memory: ByteAccount,
): void => {
  chargeUnread(exchange, memory, exchange.send(status, headers, content))
}

/** What the client has not read counts against the memory of its key until it has. */
export const chargeUnread = (exchange: Exchange, memory: ByteAccount, unread: number): void => {
  memory.keep(unread)
  if (unread > 0) exchange.onRead = () => memory.keep(0)
}

/** A page of at least this many characters is sent while it is made, so it is never in memory as a whole. */
const streamedFrom = 1 << 19
/** The memory that such a page is charged: rows, tokens and text. */
const streamBytes = 1 << 22

/** A fault that is found when a part was sent already ends the connection, so that nobody takes the part for the whole. */
const pageSender = (
  vault: Vault,
  withReceipt: (headers: AnswerHeaders, receipt: Receipt) => AnswerHeaders,
) => {
  const recordAnswer = answerRecorder(vault)
  const recordPart = partRecorder(vault)
  return async (
    exchange: Exchange,
    status: number,
    headers: AnswerHeaders,
    page: Page,
    { work, memory }: Pick<Visit, 'work' | 'memory'>,
    caller: Caller | undefined,
  ): Promise<void> => {
    let stream: AnswerStream | undefined
    let text = ''
    let separator = ''
    for await (const tokens of page.tokens)
      for (const token of tokens) {
        text += separator + JSON.stringify(token)
        separator = ','
        if (text.length < streamedFrom) continue
        const receipt = await recordPart(caller)
        if (stream === undefined) {
          if (!memory.hold(streamBytes)) throw new VaultError('overloaded')
          stream = exchange.stream(status, withReceipt(headers, receipt))
          text = `{"data":[${text}`
        }
        await stream.write(text)
        text = ''
        if (!work.hasTurn) await work.turn()
      }
    const { pagination, ...more } = await page.rest()
    const rest = Object.entries(more).map(
      ([field, value]) => `,${JSON.stringify(field)}:${JSON.stringify(value)}`,
    )
    const ends = `]${rest.join('')}`
    if (stream === undefined) {
      const content = `{"pagination":${JSON.stringify(pagination)},"data":[${text}${ends}}\n`
      headers['content-length'] = Buffer.byteLength(content)
      sendWhole(exchange, status, withReceipt(headers, await recordAnswer(caller)), content, memory)
      return
    }
    await recordPart(caller)
    await stream.write(`${text}${ends},"pagination":${JSON.stringify(pagination)}}\n`)
    stream.end()
    memory.keep(0)
  }
}

/**
 * Sends the pieces of an answer of any length while they are made. It is recorded before its first byte, which waits for the first
 * piece, so a fault before that is a problem like any other. A later one ends the connection.
 */
const streamSender = (
  vault: Vault,
  withReceipt: (headers: AnswerHeaders, receipt: Receipt) => AnswerHeaders,
) => {
  const recordAnswer = answerRecorder(vault)
  return async (
    exchange: Exchange,
    status: number,
    headers: AnswerHeaders,
    { pieces }: StreamedText,
    { work, memory }: Pick<Visit, 'work' | 'memory'>,
    caller: Caller | undefined,
  ): Promise<void> => {
    if (!memory.hold(streamBytes)) throw new VaultError('overloaded')
    let stream: AnswerStream | undefined
    for await (const piece of pieces) {
      stream ??= exchange.stream(status, withReceipt(headers, await recordAnswer(caller)))
      if (exchange.method === 'HEAD') break
      await stream.write(piece)
      if (!work.hasTurn) await work.turn()
    }
    stream ??= exchange.stream(status, withReceipt(headers, await recordAnswer(caller)))
    stream.end()
    memory.keep(0)
  }
}
