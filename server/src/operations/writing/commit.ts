import { VaultError } from '../../domain/errors.ts'
import type { Json } from '../../domain/json/json.ts'
import { StoreOverloadedError } from '../../store/port.ts'
import type { Outcome, WriteSet } from '../../store/write-set.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'
import { keepingAnswer } from './kept-results.ts'

/**
 * Makes an operation's writes durable. With an idempotency key, the answer is kept in the same transaction: both become durable,
 * or neither.
 */
export const commit = (
  vault: Vault,
  caller: Caller,
  set: WriteSet,
  answer: Json,
  idempotent: Idempotent | undefined,
): Promise<Outcome> =>
  idempotent === undefined
    ? commitSet(vault, set)
    : commitKept(vault, keepingAnswer(vault, caller, idempotent, set, answer))

const commitKept = async (vault: Vault, set: WriteSet): Promise<Outcome> => {
  const outcome = await commitSet(vault, set)
  if (!outcome.committed && outcome.conflict === 'resultKept') throw new VaultError('requestInFlight')
  return outcome
}

/**
 * Commits the set, unless it is empty. C27: if the tenant was deleted meanwhile, its API keys are gone, hence 401. C37: a tenant
 * with too large a backlog is told to come back.
 */
export const commitSet = async ({ store }: Pick<Vault, 'store'>, set: WriteSet): Promise<Outcome> => {
  if (set.guarded.length + set.effects.length + set.counters.length === 0) return { committed: true }
  try {
    const outcome = await store.commit(set)
    if (!outcome.committed && outcome.conflict === 'tenantGone') throw new VaultError('unauthorized')
    return outcome
  } catch (error) {
    throw error instanceof StoreOverloadedError ? new VaultError('overloaded') : error
  }
}
