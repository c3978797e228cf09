import type { ActKind } from '../../domain/acts/act.ts'
import { VaultError } from '../../domain/errors.ts'
import type { Vault } from '../vault/vault.ts'
import { operatorAct, recorded, recordedForOperator } from './acting.ts'
import { type LogOwner, theOperator } from './log-owner.ts'
import type { LogReader } from './read-records.ts'

/**
 * The operator reads a log, which outlives its tenant and the tenant's keys; without a tenant, the operator's own. That is recorded in
 * the log that is read.
 */
export const readingLog = async <T>(
  vault: Vault,
  tenantId: string | undefined,
  kind: ActKind,
  work: (reader: LogReader) => Promise<T>,
): Promise<T> => {
  const owner = tenantId === undefined ? theOperator : await ownerOf(vault, tenantId)
  if (owner === undefined)
    return recordedForOperator(vault, kind, async () => {
      throw new VaultError('notFound', { detail: 'There is no log of such a tenant.' })
    })
  const act = operatorAct(kind)
  const reader = { ...owner, work: vault.scheduler.background('logs'), act }
  return recorded(vault, owner, act, () => work(reader))
}

const ownerOf = async ({ store }: Vault, tenantId: string): Promise<LogOwner | undefined> => {
  const found = await store.findLogOwner(tenantId)
  return found && { tenantNumber: found.tenant, keys: { tenantId } }
}
