import { newUuid } from '../../crypto/uuid.ts'
import { Act, type ActKind, type Actor, resultOf } from '../../domain/acts/act.ts'
import { VaultError } from '../../domain/errors.ts'
import type { Vault } from '../vault/vault.ts'
import { type LogOwner, theOperator } from './log-owner.ts'

const operator: Actor = { type: 'operator' }
const job: Actor = { type: 'job' }

/** What the operator does at the command line. */
export const operatorAct = (kind: ActKind): Act => new Act(kind, operator, newUuid())

/** What the vault does by itself. */
export const jobAct = (kind: ActKind): Act => new Act(kind, job, newUuid())

type Recording = Pick<Vault, 'acts'>

/** Does what an act is about, and has it recorded, whatever comes of it, before anybody is told. */
export const recorded = async <T>(
  { acts }: Recording,
  owner: LogOwner,
  act: Act,
  work: () => Promise<T>,
): Promise<T> => {
  try {
    const done = await work()
    if (!act.isRecorded) await acts.record(owner, act)
    return done
  } catch (error) {
    if (!act.isRecorded) {
      act.ends(0, error instanceof VaultError ? resultOf(error.code, act.entityId !== undefined) : 'failed')
      acts.note(owner, act)
    }
    throw error
  }
}

/** What the operator does that is about no tenant, or about none that there is. */
export const recordedForOperator = <T>(
  vault: Recording,
  kind: ActKind,
  work: (act: Act) => Promise<T>,
): Promise<T> => {
  const act = operatorAct(kind)
  return recorded(vault, theOperator, act, () => work(act))
}
