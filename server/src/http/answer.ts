import type { Endpoint } from '../contract/endpoint.ts'
import { ownHeaders } from '../contract/headers.ts'
import { checkNames, type QueryPair } from '../contract/query-pairs.ts'
import { type Issue, requireNone, VaultError } from '../domain/errors.ts'
import { TamperedError } from '../domain/tampered-error.ts'
import type { Caller, Vault } from '../operations/vault/vault.ts'
import { readBody } from './body.ts'
import { type Answer, type Handle, inText } from './call.ts'
import { callerOf } from './caller-of.ts'
import type { Exchange } from './exchange.ts'
import { type Replayed, readIdempotencyKey } from './idempotency.ts'
import { pathOf } from './path-of.ts'
import type { PipelineOptions } from './pipeline-options.ts'
import { readQuery } from './query.ts'
import { requirePermission } from './require-permission.ts'
import { answerSender } from './send-answer.ts'
import type { SendProblem } from './send-problem.ts'
import { sharedPages } from './shared-pages.ts'

/**
 * The second half, from the bytes of the body to the answer; errors go to the one mapper.
 *
 *   401, 403, 503 once more, for what changed while the body was on its way, or while a page waited for its turn
 *   (now the other requests that arrived in this turn of the event loop are read, too)
 *   → with an idempotency key: 400 of the key → replay, 422 or 409 in flight → 400 of the query → JSON → 400 of the body
 *   → operation: 403 destinations → 404 → 400 of the whole → deduplication → 409 → commit → answer
 */
export const answering = (
  options: PipelineOptions,
  endpoint: Endpoint,
  handle: Handle,
  sendProblem: SendProblem,
) => {
  const { vault, idempotency, headerPrefix, shedding, loopTurns, pageRoom } = options
  const findCaller = callerOf(options)
  const send = answerSender(endpoint, ownHeaders(headerPrefix).traceId)
  const takesBody = endpoint.method !== 'GET'
  const pages = endpoint.isPage ? sharedPages() : undefined

  /** C27: a key may be revoked, or its rules may change, while the body is on its way or a page waits for its turn. */
  const replaceCaller = async (exchange: Exchange): Promise<void> => {
    exchange.caller = await findCaller(exchange)
    if (exchange.caller === undefined) throw new VaultError('unauthorized')
    requirePermission(exchange.caller, endpoint)
  }

  const run = (
    { url, params }: Exchange,
    caller: Caller | undefined,
    bytes: Buffer | undefined,
  ): Promise<Answer> => {
    const query = readQuery(url)
    if (endpoint.query === undefined && endpoint.permission !== 'open') refuseQuery(query)
    const body = readBody(endpoint, bytes)
    return handle({ vault, headerPrefix, caller, params, query, body })
  }

  /**
   * A page may be one that is being made for another request. With an idempotency key: the answer that was kept under it, or a new
   * one, which is then kept.
   */
  const answerTo = (
    exchange: Exchange,
    caller: Caller | undefined,
    bytes: Buffer | undefined,
  ): Promise<Answer | Replayed> => {
    const { method, url, headers } = exchange
    if (pages !== undefined && caller !== undefined) {
      const request = `${url}\n${bytes?.toString('latin1') ?? ''}`
      return pages.page(caller, request, async () => inText(await run(exchange, caller, bytes)))
    }
    const key = endpoint.takesIdempotencyKey ? headers[idempotency.header] : undefined
    if (key === undefined || caller === undefined) return run(exchange, caller, bytes)
    const asked = { method, path: pathOf(url), key: readIdempotencyKey(key), body: bytes }
    return idempotency.once(caller, asked, keeping => run(exchange, keeping, bytes))
  }

  return async (exchange: Exchange): Promise<void> => {
    let isEntered = false
    let isInRoom = false
    try {
      let bytes = takesBody ? exchange.body() : undefined
      if (bytes instanceof Promise) {
        bytes = await bytes
        if (exchange.caller !== undefined) await replaceCaller(exchange)
      }
      const length = bytes?.length ?? 0
      // Checked again: other requests were admitted while this body was on its way.
      shedding.requireShortQueue(loopTurns.ahead(length))
      shedding.enter()
      isEntered = true
      if (endpoint.isPage) {
        await pageRoom.enter()
        isInRoom = true
        if (exchange.caller !== undefined) await replaceCaller(exchange)
      }
      await loopTurns.next(length)
      const { caller } = exchange
      let answer: Answer | Replayed
      try {
        answer = await answerTo(exchange, caller, bytes)
      } catch (error) {
        answer = await answerTo(exchange, await callerWithNewKeys(vault, error, caller), bytes)
      }
      send(exchange, answer)
    } catch (error) {
      sendProblem(exchange, error)
    } finally {
      if (isInRoom) pageRoom.leave(exchange.socket)
      if (isEntered) shedding.leave()
    }
  }
}

/** C27: a row that does not open may be sealed with a key that another process made a moment ago. */
const callerWithNewKeys = async (
  { keyring }: Vault,
  error: unknown,
  caller: Caller | undefined,
): Promise<Caller> => {
  if (!(error instanceof TamperedError) || caller === undefined) throw error
  const keys = await keyring.lookAgain(caller.tenantNumber, caller.tenant.id)
  if (keys.currentDataVersion === caller.keys.currentDataVersion) throw error
  return { ...caller, keys }
}

const refuseQuery = (query: readonly QueryPair[]): void => {
  const issues: Issue[] = []
  checkNames(query, [], issues)
  requireNone(issues)
}
