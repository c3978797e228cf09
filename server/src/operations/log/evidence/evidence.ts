import { type Checkpoint, headLeaf, openCheckpoint, signCheckpoint } from '../../../crypto/checkpoint.ts'
import type { EvidenceKeys } from '../../../crypto/evidence-keys.ts'
import { append, leafHash, rootOf } from '../../../crypto/merkle.ts'
import { NoteError, verifierKeyText } from '../../../crypto/signed-note.ts'
import { describeError, type Log } from '../../../domain/log.ts'
import { TamperedError } from '../../../domain/tampered-error.ts'
import type { Instant } from '../../../domain/time/instant.ts'
import type { Anchor } from '../../../store/anchor.ts'
import type { GrownLog, Store } from '../../../store/port.ts'
import type { LogCheckpointRow, LogLeafRow, LogTreeRow } from '../../../store/rows.ts'
import { theOperator } from '../log-owner.ts'
import type { Grower } from './grower.ts'
import {
  type CheckpointState,
  openCheckpointState,
  openTree,
  sealCheckpoint,
  type TreeState,
  treeRow,
} from './tree-state.ts'

/** Logs that one checkpoint covers. */
export const logsPerCheckpoint = 4_096
/** Blocks that are read and opened at a time. One may take a mebibyte. */
const blocksAtOnce = 16
/** Checkpoints that are tried in order to catch up with what others sign meanwhile. */
const attemptsMax = 100

type EvidenceStore = Pick<
  Store,
  | 'listGrownLogs'
  | 'listLogOwners'
  | 'readLog'
  | 'putLogTree'
  | 'newestCheckpoint'
  | 'scanCheckpoints'
  | 'putCheckpoint'
>

type GrownTree = { readonly row: LogTreeRow; readonly ifSize: number | null; readonly tree: TreeState }

/** Storage is not the one that an anchor belongs to (L4). The message is one line for the operator: what is wrong, and what to do. */
export class NotAnchoredError extends Error {
  readonly problem: string
  readonly remedy: string
  /** Storage is older, which the operator can accept from this checkpoint on. Nothing else can be accepted. */
  readonly acceptableAt: number | undefined

  constructor({ problem, remedy, acceptableAt }: { problem: string; remedy: string; acceptableAt?: number }) {
    super(`${problem}. ${remedy}`)
    this.name = 'NotAnchoredError'
    this.problem = problem
    this.remedy = remedy
    this.acceptableAt = acceptableAt
  }
}

const rolledBack = (anchor: string, anchored: number, newest: number): NotAnchoredError =>
  new NotAnchoredError({
    problem: `storage is older than its anchor: it was rolled back or cut (${anchor} is at checkpoint ${anchored}, and storage at ${newest})`,
    remedy: `If that was you: strongroom logs accept-rollback ${newest}`,
    acceptableAt: newest,
  })

const forked = (anchor: string, anchored: number): NotAnchoredError =>
  new NotAnchoredError({
    problem: `storage is not the one of its anchor: the log has two futures (storage lacks checkpoint ${anchored} of ${anchor})`,
    remedy:
      'Bring back the storage that has it; or keep that file as evidence, and set audit-anchors to a new one',
  })

const foreign = (anchor: string, { message }: NoteError): NotAnchoredError =>
  new NotAnchoredError({
    problem: `${anchor} holds what this vault has not signed (${message})`,
    remedy: 'Bring back the storage that it belongs to, or set audit-anchors to a new file',
  })

/**
 * Makes the log provable (L4): grows a tree for each log and writer, and signs one checkpoint over those that grew. Any number of nodes
 * may do so at once; storage takes what continues the newest checkpoint.
 */
export class Evidence {
  readonly keys: EvidenceKeys
  readonly #store: EvidenceStore
  readonly #grower: Grower
  readonly #clock: () => Instant
  readonly #log: Pick<Log, 'error'>
  /** Told once. */
  readonly #tampered = new Set<string>()
  readonly #tenantIds = new Map<number, string>([[theOperator.tenantNumber, theOperator.keys.tenantId]])

  constructor(parts: {
    keys: EvidenceKeys
    store: EvidenceStore
    grower: Grower
    clock: () => Instant
    log: Pick<Log, 'error'>
  }) {
    this.keys = parts.keys
    this.#store = parts.store
    this.#grower = parts.grower
    this.#clock = parts.clock
    this.#log = parts.log
  }

  /** The public key, as verifiers take it. */
  get verifierKey(): string {
    return verifierKeyText(this.keys.signer)
  }

  /** Whether some log has grown since its tree did. */
  async isBehind(): Promise<boolean> {
    return (await this.#store.listGrownLogs(1)).length > 0
  }

  /**
   * Grows the trees of logs that have grown, and signs a checkpoint over them; undefined if none has, or if another node was faster.
   * The checkpoint becomes durable before the trees: after a crash in between, they grow once more, and a head is there twice.
   *
   * `epochStart`: the operator knows that storage is older than its anchor. A new epoch begins at its newest checkpoint, and what was
   * signed beyond that is given up.
   */
  async checkpoint(epochStart?: number): Promise<LogCheckpointRow | undefined> {
    return this.#prove(await this.#store.listGrownLogs(logsPerCheckpoint), epochStart)
  }

  /** Until all that is recorded now is proven, for whoever wants all evidence. What comes meanwhile need not be. */
  async catchUp(): Promise<void> {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const before = await this.#newestSize()
      const grown = await this.#store.listGrownLogs(logsPerCheckpoint)
      const isOurs = (await this.#prove(grown)) !== undefined
      if (isOurs && grown.length < logsPerCheckpoint) return
      // Nothing has grown but logs that were changed in storage, whose trees do not. Otherwise another node was faster.
      if (!isOurs && (await this.#newestSize()) === before) return
    }
  }

  /** Appends the checkpoint. False if the anchor holds what is not our past; then nothing may be appended to it. */
  async anchor(anchor: Anchor, { note }: LogCheckpointRow): Promise<boolean> {
    const newest = await anchor.newest()
    if (newest === note) return true
    if (newest !== undefined && !(await this.isOurPast(newest))) return false
    await anchor.append(note)
    return true
  }

  /** The size of a checkpoint. Throws if it is not signed with our key. */
  sizeOf(note: string): number {
    return this.#open(note).size
  }

  /** The newest checkpoint, if it is another one and was signed longer ago than that. */
  async lateFor(note: string | undefined, ms: number): Promise<LogCheckpointRow | undefined> {
    const newest = await this.#store.newestCheckpoint()
    return newest === undefined || newest.note === note || newest.at > this.#clock() - ms ? undefined : newest
  }

  /** Whether storage has this checkpoint, or the operator has given it up. Throws if it is not signed with our key. */
  async isOurPast(note: string): Promise<boolean> {
    const { size, root, epochStarts } = this.#open(note)
    const newest = await this.#store.newestCheckpoint()
    const state = openCheckpointState(this.keys, newest)
    // Accepted later: what the older epoch had beyond the start of the newer one was given up.
    if (state.epochStarts.slice(epochStarts.length).some(start => start < size)) return true
    const [stored] = await this.#store.scanCheckpoints(size - 1, 1)
    return stored !== undefined && stored.size === size && this.#open(stored.note).root.equals(root)
  }

  /** Throws if storage lacks this checkpoint, the newest that the anchor holds (L4). */
  async requirePast(anchor: Anchor, note: string): Promise<void> {
    try {
      if (await this.isOurPast(note)) return
    } catch (error) {
      throw error instanceof NoteError ? foreign(anchor.name, error) : error
    }
    const { size } = this.#open(note)
    const newest = await this.#newestSize()
    throw size > newest ? rolledBack(anchor.name, size, newest) : forked(anchor.name, size)
  }

  /** The tenant whose log it is, which may be gone. Throws a TamperedError if storage does not know it any more. */
  async tenantIdOf(tenant: number): Promise<string> {
    const known = this.#tenantIds.get(tenant)
    if (known !== undefined) return known
    const [owner] = await this.#store.listLogOwners(tenant - 1, 1)
    if (owner?.tenant !== tenant) throw new TamperedError({ kind: `owner of log ${tenant}` })
    this.#tenantIds.set(tenant, owner.id)
    return owner.id
  }

  close(): Promise<void> {
    return this.#grower.close()
  }

  async #prove(logs: readonly GrownLog[], epochStart?: number): Promise<LogCheckpointRow | undefined> {
    const grown: GrownTree[] = []
    for (const log of logs) {
      const tree = await this.#growTree(log).catch(error => this.#unlessTampered(log, error))
      if (tree !== undefined) grown.push(tree)
    }
    if (grown.length === 0) return undefined
    const checkpoint = await this.#sign(grown, epochStart)
    if (checkpoint !== undefined)
      await Promise.all(grown.map(({ row, ifSize }) => this.#store.putLogTree(row, ifSize)))
    return checkpoint
  }

  async #newestSize(): Promise<number> {
    return (await this.#store.newestCheckpoint())?.size ?? 0
  }

  #open(note: string): Checkpoint {
    return openCheckpoint(note, this.keys.signer)
  }

  async #growTree({ head, tree: stored }: GrownLog): Promise<GrownTree | undefined> {
    const { tenant, writer } = head
    const tenantId = await this.tenantIdOf(tenant)
    let tree = openTree(this.keys, stored)
    const from = tree.size
    while (tree.size < head.size) {
      const cursor = { writer, from: tree.size }
      const blocks = await this.#store.readLog(tenant, [cursor], { limit: blocksAtOnce })
      if (blocks.length === 0) break
      const { size, edge } = tree
      tree = { ...tree, ...(await this.#grower.grow({ tenantId, size, edge, blocks })) }
    }
    return tree.size === from
      ? undefined
      : { row: treeRow(this.keys, head, tree), ifSize: stored?.size ?? null, tree }
  }

  /** A log that was changed outside the vault must not keep others from being proven. */
  #unlessTampered({ head: { tenant, writer } }: GrownLog, error: unknown): undefined {
    if (!(error instanceof TamperedError)) throw error
    const name = `${tenant} ${writer}`
    if (this.#tampered.has(name)) return
    this.#tampered.add(name)
    this.#log.error(
      { writer, ...describeError(error) },
      'a log was changed in storage: its tree does not grow',
    )
  }

  async #sign(grown: readonly GrownTree[], epochStart?: number): Promise<LogCheckpointRow | undefined> {
    const newest = await this.#store.newestCheckpoint()
    const before = newest?.size ?? 0
    if (epochStart !== undefined && epochStart !== before) return undefined
    const state = openCheckpointState(this.keys, newest)
    const leaves: LogLeafRow[] = []
    const hashes: Buffer[] = []
    for (const { row, tree } of grown) {
      const { tenant, writer, size } = row
      const root = rootOf(tree.edge)
      leaves.push({ position: before + leaves.length, tenant, writer, size, root })
      hashes.push(leafHash(headLeaf({ tenantId: await this.tenantIdOf(tenant), writer, size, root })))
    }
    const next: CheckpointState = {
      edge: append(state.edge, before, hashes),
      epochStarts: epochStart === undefined ? state.epochStarts : [...state.epochStarts, epochStart],
    }
    const size = before + leaves.length
    const time = this.#clock()
    const { epochStarts } = next
    const note = signCheckpoint({ size, root: rootOf(next.edge), epochStarts, time }, this.keys.signer)
    const row = { size, at: time, note, sealed: sealCheckpoint(this.keys, size, next) }
    return (await this.#store.putCheckpoint(row, leaves, newest?.size ?? null)) ? row : undefined
  }
}
