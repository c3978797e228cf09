import type { Endpoint } from '../contract/endpoint.ts'
import { Act, type ActKind, type Actor, resultOf } from '../domain/acts/act.ts'
import { statusOf } from '../domain/errors.ts'
import { theOperator } from '../operations/log/log-owner.ts'
import type { Caller, KnownCaller, Vault } from '../operations/vault/vault.ts'
import type { Exchange } from './exchange.ts'
import type { Replayed } from './idempotency.ts'
import { asVaultError } from './problem.ts'
import type { SourceOf } from './source-address.ts'

/** Has what an answer shows recorded before it leaves (L1). Returns the receipt that the caller gets, if any. */
export type RecordAnswer = (caller: Caller | undefined) => Receipt | Promise<Receipt>

/** The id of a record that was durable before the answer left (L4). */
export type Receipt = string | undefined

/** Undefined for what is no act: probes and documentation. */
export const actKindOf = ({ id, path, logs }: Endpoint): ActKind | undefined =>
  logs === 'no act' ? undefined : { operation: id, route: path, ...logs }

export const beginAct = (
  kind: ActKind,
  { actor }: Pick<KnownCaller, 'actor'>,
  { traceId }: Pick<Exchange, 'traceId'>,
  { status, address }: { readonly status: number; readonly address: string },
): Act => {
  const act = new Act(kind, actor, traceId, address)
  act.status = status
  return act
}

/**
 * An answer that shows data in the clear waits for its record. Any other is recorded soon, and not waited for. A write was recorded
 * with what it changed.
 */
export const answerRecorder =
  ({ acts }: Pick<Vault, 'acts'>): RecordAnswer =>
  caller => {
    if (caller === undefined) return undefined
    const { act } = caller
    if (!act.isRecorded) {
      if (act.reveals) return acts.record(caller, act).then(() => receiptOf(acts, caller))
      acts.note(caller, act)
    }
    return receiptOf(acts, caller)
  }

/** The same for a part of a long answer, which has a record of its own. */
export const partRecorder =
  ({ acts }: Pick<Vault, 'acts'>) =>
  async (caller: Caller | undefined): Promise<Receipt> => {
    if (caller === undefined) return undefined
    const part = { ...caller, act: caller.act.split() }
    if (part.act.reveals) await acts.record(part, part.act)
    else acts.note(part, part.act)
    return receiptOf(acts, part)
  }

/** Anybody may hold a public key, so its callers get no receipts. */
const receiptOf = (acts: Vault['acts'], { act, application }: Caller): Receipt =>
  act.isDurable && application.type !== 'public' ? acts.idOf(act) : undefined

/** A replay is an act of its own, about what the first request was about. */
export const describeReplay = ({ act }: Caller, { named }: Replayed): void => {
  if (named.entityId !== undefined) act.finds(named.entityId)
  act.tokens = [...named.tokens]
  act.says({ replayed: true })
}

type Recording = { readonly vault: Pick<Vault, 'acts'>; readonly sourceOf: SourceOf }

const anonymous: Actor = { type: 'anonymous' }

/** Has a refusal recorded. What is refused before its key is known belongs to no tenant. */
export const refusalRecorder =
  ({ vault: { acts }, sourceOf }: Recording, kind: ActKind | undefined) =>
  (exchange: Exchange, caller: Caller | undefined, error: unknown): void => {
    if (kind === undefined) return
    const { code } = asVaultError(error)
    const act =
      caller?.act ??
      beginAct(kind, { actor: anonymous }, exchange, { status: 0, address: sourceOf(exchange) })
    if (act.isRecorded) return
    // Whatever it has come across, nothing of it was shown or changed.
    act.startsAgain()
    act.ends(statusOf(code), resultOf(code, act.entityId !== undefined))
    acts.noteRefusal(caller ?? theOperator, act)
  }
