import type { LogRecord } from '../../src/domain/acts/block.ts'
import { type LogOwner, theOperator } from '../../src/operations/log/log-owner.ts'
import type { Vault } from '../../src/operations/vault/vault.ts'

/** All records of a log, by writer and number. */
export const recordsOf = async (vault: Vault, owner: LogOwner): Promise<LogRecord[]> => {
  await vault.acts.flush()
  const heads = await vault.store.listLogHeads(owner.tenantNumber)
  const cursors = heads.map(({ writer, start }) => ({ writer, from: start }))
  const blocks = await vault.store.readLog(owner.tenantNumber, cursors, { limit: 1_000_000 })
  return blocks.flatMap(block => vault.acts.recordsIn(owner, block))
}

export const recordsOfTenant = async (vault: Vault, tenantId: string): Promise<LogRecord[]> => {
  const owner = await vault.store.findLogOwner(tenantId)
  if (owner === undefined) throw new Error('there is no log of this tenant')
  return recordsOf(vault, { tenantNumber: owner.tenant, keys: { tenantId } })
}

export const recordsOfOperator = (vault: Vault): Promise<LogRecord[]> => recordsOf(vault, theOperator)
