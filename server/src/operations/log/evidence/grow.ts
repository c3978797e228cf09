import type { LogSeal } from '../../../crypto/log-seal.ts'
import { append, type Edge, leafHash } from '../../../crypto/merkle.ts'
import { BlockRecords } from '../../../domain/acts/block.ts'
import { TamperedError } from '../../../domain/tampered-error.ts'
import type { LogBlockRow } from '../../../store/rows.ts'

/** A tree, and the blocks that hold the records behind it. */
export type Growth = {
  readonly tenantId: string
  readonly size: number
  readonly edge: Edge
  readonly blocks: readonly LogBlockRow[]
}

export type Grown = { readonly size: number; readonly edge: Edge }

/** The tree with the records of these blocks. Throws a TamperedError if one does not open, or if they do not continue the tree. */
export const grow = (seal: LogSeal, { tenantId, size, edge, blocks }: Growth): Grown => {
  const leaves: Buffer[] = []
  for (const block of blocks) {
    const next = size + leaves.length
    const records = new BlockRecords(seal.open(tenantId, block), { ...block, tenantId })
    if (block.first > next || records.length !== block.records)
      throw new TamperedError({ kind: 'block of the log', tenantId })
    for (let at = next - block.first; at < records.length; at++) {
      const line = records.line(at)
      if (line !== undefined) leaves.push(leafHash(line))
    }
  }
  return { size: size + leaves.length, edge: append(edge, size, leaves) }
}
