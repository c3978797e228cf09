import { VaultError } from '../../../domain/errors.ts'
import type { LogCheckpointRow } from '../../../store/rows.ts'
import type { Vault } from '../../vault/vault.ts'
import { recordedForOperator } from '../acting.ts'
import { theOperator } from '../log-owner.ts'

/**
 * L4: the operator knows that storage is older than its anchor. A new epoch begins at storage's newest checkpoint, whose size the
 * operator names, and what was signed beyond that is given up. The act is on record before.
 */
export const acceptRollback = (vault: Vault, size: number): Promise<LogCheckpointRow> =>
  recordedForOperator(vault, { operation: 'logs accept-rollback', entityType: 'log' }, async act => {
    const { store, evidence, anchoring, acts } = vault
    const newest = (await store.newestCheckpoint())?.size ?? 0
    if (size !== newest)
      throw refused(`The newest checkpoint of storage has the size ${newest}, not ${size}.`)
    if (anchoring.anchors.length > 0 && !(await anchoring.isRolledBack()))
      throw refused('Storage has the newest checkpoint of its anchors, so there is nothing to accept.')
    act.says({ after: { checkpoint: size } })
    await acts.record(theOperator, act)
    const checkpoint = await evidence.checkpoint(size)
    if (checkpoint === undefined)
      throw refused(
        "No checkpoint could be signed: stop all servers of this vault, and see what strongroom logs verify says about the operator's log.",
      )
    anchoring.offer(checkpoint)
    await anchoring.settled()
    return checkpoint
  })

const refused = (detail: string): VaultError => new VaultError('invalidRequest', { detail })
