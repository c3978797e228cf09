import { describeError } from '../../domain/log.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import type { Instant } from '../../domain/time/instant.ts'
import type { LogHead } from '../../store/rows.ts'
import { jobAct } from '../log/acting.ts'
import { grow } from '../log/evidence/grow.ts'
import { openTree, treeRow } from '../log/evidence/tree-state.ts'
import { type LogOwner, logOwners } from '../log/log-owner.ts'
import type { Vault } from '../vault/vault.ts'

const dayMs = 86_400_000

/** Each is read and opened once more before it goes, to know the edge that stays. */
const blocksAtOnce = 16

/**
 * L7: removes blocks that are older than the retention, whole. The edge of the tree at the cut stays, so what remains can be proven.
 * What no checkpoint covers yet is not removed. Returns how many records went.
 */
export const cutLogs = async (
  vault: Vault,
  { retentionDays, stopping }: { retentionDays: number; stopping?: AbortSignal },
): Promise<number> => {
  const before = vault.clock() - retentionDays * dayMs
  let cut = 0
  for await (const owner of logOwners(vault.store)) {
    if (stopping?.aborted) return cut
    let count = 0
    for (const head of await vault.store.listLogHeads(owner.tenantNumber))
      count += await cutLog(vault, owner, head, before).catch(error => unlessTampered(vault, error))
    if (count > 0) recordCut(vault, owner, count)
    cut += count
  }
  return cut
}

const recordCut = ({ acts }: Vault, owner: LogOwner, count: number): void => {
  const act = jobAct({ operation: 'cut-logs', entityType: 'log' })
  act.says({ count })
  acts.note(owner, act)
}

/** The operator must see what is left of a log that was changed outside the vault. */
const unlessTampered = ({ log }: Vault, error: unknown): number => {
  if (!(error instanceof TamperedError)) throw error
  log.error(describeError(error), 'a log was changed in storage: nothing of it is removed')
  return 0
}

const cutLog = async (
  { store, acts, evidence, scheduler }: Vault,
  { tenantNumber, keys: { tenantId } }: LogOwner,
  { writer }: LogHead,
  before: Instant,
): Promise<number> => {
  const work = scheduler.background('cut-logs')
  const stored = await store.getLogTree(tenantNumber, writer)
  if (stored === undefined) return 0
  const tree = openTree(evidence.keys, stored)
  let { size, edge } = tree.cut
  for (let isOlder = true; isOlder; ) {
    if (!work.hasTurn) await work.turn()
    const blocks = await store.readLog(tenantNumber, [{ writer, from: size }], { limit: blocksAtOnce })
    const old = blocks.filter(
      (block, at) =>
        block.first + block.records <= tree.size &&
        blocks.slice(0, at + 1).every(({ lastAt }) => lastAt < before),
    )
    if (old.length > 0) ({ size, edge } = grow(acts.seal, { tenantId, size, edge, blocks: old }))
    isOlder = old.length === blocksAtOnce
  }
  if (size === tree.cut.size) return 0
  const next = treeRow(evidence.keys, stored, { ...tree, cut: { size, edge } })
  return (await store.cutLog(next, stored.sealed, size)) ? size - tree.cut.size : 0
}
