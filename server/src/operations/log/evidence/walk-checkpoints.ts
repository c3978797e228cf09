import { headLeaf } from '../../../crypto/checkpoint.ts'
import { leafHash } from '../../../crypto/merkle.ts'
import { TamperedError } from '../../../domain/tampered-error.ts'
import type { Turns } from '../../../scheduling/scheduler.ts'
import type { Store } from '../../../store/port.ts'
import type { LogCheckpointRow, LogLeafRow } from '../../../store/rows.ts'
import { type Evidence, logsPerCheckpoint } from './evidence.ts'

const checkpointsAtOnce = 256
const leavesAtOnce = 4_096

/** A head under a checkpoint, and its hash as a leaf of the checkpoints' tree. */
export type CheckpointLeaf = { readonly head: LogLeafRow; readonly hash: Buffer }

export type CheckpointStep = {
  readonly checkpoint: LogCheckpointRow
  /** Those that this checkpoint added. */
  readonly leaves: readonly CheckpointLeaf[]
}

type Walked = {
  readonly store: Pick<Store, 'scanCheckpoints' | 'scanLogLeaves'>
  readonly evidence: Pick<Evidence, 'tenantIdOf'>
}

/** The checkpoints behind size `from` up to `until`, in order, each with its leaves. Throws a TamperedError where leaves are missing. */
export async function* walkCheckpoints(
  { store, evidence }: Walked,
  { from, until, work }: { from: number; until: number; work: Turns },
): AsyncGenerator<CheckpointStep> {
  let page: readonly LogLeafRow[] = []
  let at = 0
  let size = from
  while (size < until) {
    const checkpoints = await store.scanCheckpoints(size, checkpointsAtOnce)
    if (checkpoints.length === 0) throw damagedCheckpoint(until)
    for (const checkpoint of checkpoints) {
      if (checkpoint.size > until || checkpoint.size - size > logsPerCheckpoint)
        throw damagedCheckpoint(checkpoint.size)
      const leaves: CheckpointLeaf[] = []
      for (; size < checkpoint.size; size++) {
        if (at === page.length) {
          page = await store.scanLogLeaves(size, leavesAtOnce)
          at = 0
        }
        const head = page[at++]
        if (head?.position !== size) throw new TamperedError({ kind: `leaf ${size} of the checkpoints` })
        leaves.push({ head, hash: await hashOf(evidence, head) })
      }
      if (!work.hasTurn) await work.turn()
      yield { checkpoint, leaves }
      if (size === until) return
    }
  }
}

export const damagedCheckpoint = (size: number): TamperedError =>
  new TamperedError({ kind: `checkpoint ${size} of the log` })

const hashOf = async (evidence: Walked['evidence'], { tenant, writer, size, root }: LogLeafRow) => {
  const tenantId = await evidence.tenantIdOf(tenant)
  return leafHash(headLeaf({ tenantId, writer, size, root: Buffer.from(root) }))
}
