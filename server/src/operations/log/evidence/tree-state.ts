import type { EvidenceKeys } from '../../../crypto/evidence-keys.ts'
import type { Edge } from '../../../crypto/merkle.ts'
import type { LogCheckpointRow, LogTreeRow } from '../../../store/rows.ts'

/** How far the tree of one log and writer has grown, and where it was cut: what comes before is known by its edge alone (L7). */
export type TreeState = {
  readonly size: number
  readonly edge: Edge
  readonly cut: { readonly size: number; readonly edge: Edge }
}

/** The tree of the checkpoints: its edge, and where its epochs began. */
export type CheckpointState = { readonly edge: Edge; readonly epochStarts: readonly number[] }

export const noTree: TreeState = { size: 0, edge: [], cut: { size: 0, edge: [] } }

type StoredTree = {
  readonly edge: readonly string[]
  readonly cut: { size: number; edge: readonly string[] }
}
type StoredCheckpoint = { readonly edge: readonly string[]; readonly epochStarts: readonly number[] }

const toText = (edge: Edge): string[] => edge.map(hash => hash.toString('base64'))
const fromText = (edge: readonly string[]): Edge => edge.map(hash => Buffer.from(hash, 'base64'))

export const treeRow = (
  keys: EvidenceKeys,
  { tenant, writer }: Pick<LogTreeRow, 'tenant' | 'writer'>,
  { size, edge, cut }: TreeState,
): LogTreeRow => ({
  tenant,
  writer,
  size,
  sealed: keys.sealState(['tree', tenant, writer, size], {
    edge: toText(edge),
    cut: { size: cut.size, edge: toText(cut.edge) },
  } satisfies StoredTree),
})

export const openTree = (keys: EvidenceKeys, row: LogTreeRow | undefined): TreeState => {
  if (row === undefined) return noTree
  const { tenant, writer, size, sealed } = row
  const { edge, cut } = keys.openState(['tree', tenant, writer, size], sealed) as StoredTree
  return { size, edge: fromText(edge), cut: { size: cut.size, edge: fromText(cut.edge) } }
}

export const sealCheckpoint = (
  keys: EvidenceKeys,
  size: number,
  { edge, epochStarts }: CheckpointState,
): Buffer =>
  keys.sealState(['checkpoint', size], { edge: toText(edge), epochStarts } satisfies StoredCheckpoint)

export const openCheckpointState = (
  keys: EvidenceKeys,
  row: Pick<LogCheckpointRow, 'size' | 'sealed'> | undefined,
): CheckpointState => {
  if (row === undefined) return { edge: [], epochStarts: [] }
  const stored = keys.openState(['checkpoint', row.size], row.sealed) as StoredCheckpoint
  return { edge: fromText(stored.edge), epochStarts: stored.epochStarts }
}
