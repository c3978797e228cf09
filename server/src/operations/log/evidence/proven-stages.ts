import { type Checkpoint, type LogEnd, openCheckpoint, signCheckpoint } from '../../../crypto/checkpoint.ts'
import {
  append,
  consistencyProof,
  type Edge,
  inclusionProof,
  rootOf,
  type Subtrees,
  subtreesOf,
} from '../../../crypto/merkle.ts'
import { NoteError } from '../../../crypto/signed-note.ts'
import { invalid } from '../../../domain/errors.ts'
import type { Turns } from '../../../scheduling/scheduler.ts'
import type { LogCheckpointRow, LogLeafRow } from '../../../store/rows.ts'
import type { Vault } from '../../vault/vault.ts'
import type { LogOwner } from '../log-owner.ts'
import { RetentionPassedError } from './told-records.ts'
import { openCheckpointState, openTree } from './tree-state.ts'
import { damagedCheckpoint, walkCheckpoints } from './walk-checkpoints.ts'

/** A checkpoint is told at the latest when so many leaves have come since the last one: their hashes are in memory. */
const leavesMax = 4_096

/** The size and root of the checkpoint that was told last. */
export type ToldCheckpoint = { readonly size: number; readonly root: Buffer }

/** How far a log was told: the last checkpoint, and for each writer the number of its next record. */
export type ProvenPlace = { readonly checkpoint: ToldCheckpoint; readonly told: ReadonlyMap<number, number> }

export const provenStart: ProvenPlace = { checkpoint: { size: 0, root: rootOf([]) }, told: new Map() }

/** Records, and the lines of evidence that follow them. */
export type ProvenStage = {
  readonly ranges: readonly { readonly writer: number; readonly first: number; readonly end: number }[]
  /** Whole lines, of heads and at most one checkpoint. */
  readonly evidence: string
  /** The last checkpoint that was told, with this stage. */
  readonly checkpoint: ToldCheckpoint
  /** It holds the newest checkpoint, and nothing comes after it. */
  readonly isLast: boolean
}

export type ProvenOptions = {
  readonly work: Turns
  readonly place?: ProvenPlace
  /** Sizes of checkpoints that must be told: the newest ones of anchors. */
  readonly anchored?: readonly number[]
  /** The tree of a writer does not open. It throws by default. */
  readonly onDamagedTree?: (writer: number, error: unknown) => void
}

/**
 * The evidence of one log (L4), as `bin/verify-log.js` describes it, up to the newest checkpoint: where retention has cut it, its
 * heads, and the checkpoints over them. The last one is signed anew, and says what the log consists of. Nothing if there is no
 * checkpoint at all.
 *
 * Checkpoints and leaves are read in order, and only the leaves since the last told checkpoint are kept: with the edge of the tree
 * there, they prove everything that comes later. Signs nothing that storage has exchanged.
 */
export async function* provenStages(
  vault: Pick<Vault, 'store' | 'evidence'>,
  owner: LogOwner,
  { work, place = provenStart, anchored = [], onDamagedTree }: ProvenOptions,
): AsyncGenerator<ProvenStage> {
  const { store, evidence } = vault
  const newest = await store.newestCheckpoint()
  if (newest === undefined) return
  const cuts = await cutsOf(vault, owner, onDamagedTree)
  const told = new Map(place.told)
  yield { ranges: [], evidence: edgeLines(owner, cuts, told), checkpoint: place.checkpoint, isLast: false }

  let last = await treeAt(vault, place.checkpoint)
  let since: Buffer[] = []
  let heads: LogLeafRow[] = []
  const proven = new Map<number, number>()
  const isUpToDate = newest.size === place.checkpoint.size
  const stage = (row: LogCheckpointRow): ProvenStage => {
    const { size } = row
    const checkpoint = opened(vault, row)
    const { size: from } = last
    const edge = append(last.edge, from, since)
    if (checkpoint.size !== size || !checkpoint.root.equals(rootOf(edge))) throw damagedCheckpoint(size)
    const leaves = since
    const subtrees = subtreesOf({
      cut: from,
      edge: last.edge,
      leafHashes: (start, end) => leaves.slice(start - from, end - from),
    })
    const ranges = heads.map(({ writer, size: end }) => ({ writer, first: told.get(writer) ?? 0, end }))
    const lines = heads.map(head => headLine(owner, head, { subtrees, size }))
    for (const { writer, end } of ranges) {
      told.set(writer, end)
      proven.set(writer, end)
    }
    const end = size === newest.size ? endOf(owner, told, cuts) : undefined
    const note = end === undefined ? row.note : signCheckpoint({ ...checkpoint, end }, evidence.keys.signer)
    lines.push(checkpointLine(note, { from, size, subtrees }))
    last = { size, edge }
    since = []
    heads = []
    return { ranges, evidence: lines.join(''), checkpoint, isLast: size === newest.size }
  }

  for await (const { checkpoint, leaves } of walkCheckpoints(vault, {
    from: last.size,
    until: newest.size,
    work,
  })) {
    for (const { head, hash } of leaves) {
      since.push(hash)
      const { tenant, writer, size } = head
      // A slow node may have signed an older head after a newer one.
      if (
        tenant === owner.tenantNumber &&
        size >= (told.get(writer) ?? 0) &&
        size > (proven.get(writer) ?? 0)
      )
        heads.push(head)
    }
    const { size } = checkpoint
    const isDue = heads.length > 0 || size === newest.size || anchored.includes(size)
    if (isDue || since.length >= leavesMax) yield stage(checkpoint)
  }
  if (isUpToDate) yield stage(newest)
}

type Tree = { readonly size: number; readonly edge: Edge }

/** The checkpoints' tree at a checkpoint that was told before. A cursor does not outlive an accepted rollback. */
const treeAt = async (
  { store, evidence }: Pick<Vault, 'store' | 'evidence'>,
  { size, root }: ToldCheckpoint,
): Promise<Tree> => {
  if (size === 0) return { size, edge: [] }
  const [row] = await store.scanCheckpoints(size - 1, 1)
  const edge = row?.size === size ? openCheckpointState(evidence.keys, row).edge : []
  if (!rootOf(edge).equals(root))
    throw invalid({ path: 'start', message: 'is from before a rollback; start again without it' })
  return { size, edge }
}

const opened = ({ evidence }: Pick<Vault, 'evidence'>, { note, size }: LogCheckpointRow): Checkpoint => {
  try {
    return openCheckpoint(note, evidence.keys.signer)
  } catch (error) {
    if (!(error instanceof NoteError)) throw error
    throw damagedCheckpoint(size)
  }
}

/** Where retention has cut the log, by writer. */
const cutsOf = async (
  { store, evidence }: Pick<Vault, 'store' | 'evidence'>,
  { tenantNumber }: LogOwner,
  onDamagedTree: ProvenOptions['onDamagedTree'],
): Promise<ReadonlyMap<number, Tree>> => {
  const cuts = new Map<number, Tree>()
  for (const { writer } of await store.listLogHeads(tenantNumber))
    try {
      const { cut } = openTree(evidence.keys, await store.getLogTree(tenantNumber, writer))
      if (cut.size > 0) cuts.set(writer, cut)
    } catch (error) {
      if (onDamagedTree === undefined) throw error
      onDamagedTree(writer, error)
    }
  return cuts
}

const edgeLines = (owner: LogOwner, cuts: ReadonlyMap<number, Tree>, told: Map<number, number>): string => {
  let lines = ''
  for (const [writer, { size, edge }] of cuts) {
    const known = told.get(writer)
    if (known !== undefined && known < size) throw new RetentionPassedError()
    if (known !== undefined) continue
    told.set(writer, size)
    lines += line({ head: { tenant_id: owner.keys.tenantId, writer, size, edge: edge.map(toBase64) } })
  }
  return lines
}

const headLine = (
  owner: LogOwner,
  { writer, size, root, position }: LogLeafRow,
  under: { subtrees: Subtrees; size: number },
): string =>
  line({
    head: {
      tenant_id: owner.keys.tenantId,
      writer,
      size,
      root: toBase64(root),
      index: position,
      proof: inclusionProof(under.subtrees, position, under.size)?.map(toBase64),
    },
  })

const checkpointLine = (
  note: string,
  { from, size, subtrees }: { from: number; size: number; subtrees: Subtrees },
): string =>
  line({ checkpoint: { note, from, proof: consistencyProof(subtrees, from, size)?.map(toBase64) } })

const endOf = (
  { keys: { tenantId } }: LogOwner,
  told: ReadonlyMap<number, number>,
  cuts: ReadonlyMap<number, Tree>,
): LogEnd => ({
  tenantId,
  writers: [...told]
    .sort(([one], [other]) => one - other)
    .map(([writer, size]) => ({ writer, first: Math.min(size, cuts.get(writer)?.size ?? 0), size })),
})

const toBase64 = (hash: Uint8Array): string => Buffer.from(hash).toString('base64')

const line = (value: object): string => `${JSON.stringify(value)}\n`
