import { createHash } from 'node:crypto'
import { openResult, sealResult } from '../../crypto/data-seal.ts'
import { indexHash } from '../../crypto/keyed-hashes.ts'
import type { Act, TouchedToken } from '../../domain/acts/act.ts'
import type { Json, JsonObject } from '../../domain/json/json.ts'
import { parseStored } from '../../domain/json/parse-json.ts'
import { limits } from '../../domain/limits.ts'
import {
  type Instant,
  isPending,
  type PendingDeadlines,
  pendingDeadlines,
} from '../../domain/time/instant.ts'
import type { WriteSet } from '../../store/write-set.ts'
import { sealsCounter } from '../vault/counters.ts'
import type { Caller, Idempotent, IdempotentRequest, Vault } from '../vault/vault.ts'

/** What is kept of a request that succeeded. */
export type KeptResult = {
  readonly answer: Json
  readonly sameBody: boolean
  /** What the record of a replay names, as that of the request did. */
  readonly named: { readonly entityId?: string; readonly tokens: readonly TouchedToken[] }
}

export const requestHash = (caller: Caller, { method, path, key }: IdempotentRequest): Buffer =>
  indexHash(caller.keys, 'idempotency', JSON.stringify([caller.application.id, method, path, key]))

/** §4.11.7: how long answers are kept. */
export const resultDeadlines = (now: Instant): PendingDeadlines =>
  pendingDeadlines(limits.idempotencyLifetimeMs, now)

export const findResult = async (
  vault: Vault,
  caller: Caller,
  hash: Uint8Array,
  request: IdempotentRequest,
): Promise<KeptResult | undefined> => {
  const now = vault.clock()
  const row = await vault.store.getResult(caller.tenantNumber, hash, now)
  if (row === undefined) return undefined
  const kept = parseStored(openResult(caller.keys, { ...row, hash })) as JsonObject
  const pending = resultDeadlines(now)
  if (!isPending(row.expiresAt, pending)) {
    // Dropped now, not by the next sweep: while it exists, no other answer can be kept for its key.
    await vault.store.dropResult(caller.tenantNumber, hash, pending)
    return undefined
  }
  return {
    answer: kept.answer ?? null,
    sameBody: kept.body === bodyDigest(request),
    named: kept.named as unknown as KeptResult['named'],
  }
}

/** The changes with the answer among them, for as long as retries may come. */
export const keepingAnswer = <Changes extends Omit<WriteSet, 'log'>>(
  vault: Vault,
  caller: Caller,
  { hash, request }: Idempotent,
  changes: Changes,
  answer: Json,
): Changes => {
  const now = vault.clock()
  const expiresAt = now + limits.idempotencyLifetimeMs
  const kept = JSON.stringify({ answer, body: bodyDigest(request), named: namedBy(caller.act) })
  const sealed = sealResult(caller.keys, { hash, expiresAt }, kept)
  return {
    ...changes,
    guarded: [
      // Must be the first condition: otherwise the loser of a race would be told that its id is taken, by the winner's token.
      { kind: 'keepResult', row: { hash, expiresAt, sealed }, now },
      ...changes.guarded,
    ],
    counters: [...changes.counters, { name: sealsCounter(caller.keys.currentDataVersion), by: 1 }],
  }
}

const namedBy = ({ entityId, tokens }: Act): KeptResult['named'] => ({
  ...(entityId !== undefined && { entityId }),
  tokens,
})

const bodyDigest = ({ body }: IdempotentRequest): string => createHash('sha256').update(body).digest('base64')
