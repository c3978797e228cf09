import type { Act, ActKind } from '../../domain/acts/act.ts'
import { VaultError } from '../../domain/errors.ts'
import type { Json } from '../../domain/json/json.ts'
import type { Token } from '../../domain/tokens/token.ts'
import { StoreOverloadedError } from '../../store/port.ts'
import { changesContent, type Outcome, type WriteSet } from '../../store/write-set.ts'
import { jobAct } from '../log/acting.ts'
import type { Caller, Idempotent, UnlockedTenant, Vault } from '../vault/vault.ts'
import { keepingAnswer } from './kept-results.ts'

/** Somebody else has replaced the report that a set was to replace, so that nothing of the set was written. */
export class ReportChangedError extends Error {}

/** What an operation changes. Its record is added when it is committed. */
export type Changes = Omit<WriteSet, 'log'> & {
  /** Expired tokens that it removes in passing, which is an act of the vault's own. */
  readonly purged?: readonly Token[]
}

/**
 * Makes an operation's writes durable, and with them the record of the act (L1). For a request with an idempotency key, the answer
 * that they lead to is kept in the same transaction. All become durable together, or none does. If nothing changes, nothing is
 * written, and whoever answers records the act.
 */
export const commit = async (
  vault: Vault,
  caller: Caller,
  changes: Changes,
  answer: Json = null,
  idempotent?: Idempotent,
): Promise<Outcome> => {
  const kept = idempotent ? keepingAnswer(vault, caller, idempotent, changes, answer) : changes
  if (!changesContent(kept)) return { committed: true }
  const { act, trace } = caller
  const log = vault.acts.partOf(caller, act, ...purgesOf(kept))
  const span = trace?.begin('commit')
  const outcome = await commitSet(vault, { ...kept, log })
  span?.end()
  if (outcome.committed) {
    act.isRecorded = true
    act.isDurable = true
    return outcome
  }
  if (outcome.conflict === 'resultKept') throw new VaultError('requestInFlight')
  if (outcome.conflict === 'reportChanged') throw new ReportChangedError()
  act.startsAgain()
  return outcome
}

/** Expired tokens that stand in somebody's way, removed by themselves. */
export const commitPurge = (vault: Vault, tenant: UnlockedTenant, changes: Changes): Promise<Outcome> =>
  vault.store.commit({ ...changes, log: vault.acts.partOf(tenant, ...purgesOf(changes)) })

const sweepExpired: ActKind = { operation: 'sweep-expired', entityType: 'token' }

const purgesOf = ({ purged = [] }: Changes): Act[] => {
  if (purged.length === 0) return []
  const act = jobAct(sweepExpired)
  for (const token of purged) act.touches(token, 'token:delete')
  act.says({ count: purged.length })
  return [act]
}

/** C27: the API keys of a tenant that was deleted meanwhile are gone, hence 401. C37: whose backlog is too large is told to come back. */
export const commitSet = async ({ store }: Pick<Vault, 'store'>, set: WriteSet): Promise<Outcome> => {
  try {
    const outcome = await store.commit(set)
    if (!outcome.committed && outcome.conflict === 'tenantGone') throw new VaultError('unauthorized')
    return outcome
  } catch (error) {
    throw error instanceof StoreOverloadedError ? new VaultError('overloaded') : error
  }
}
