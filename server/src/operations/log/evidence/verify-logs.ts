import { type Checkpoint, openCheckpoint } from '../../../crypto/checkpoint.ts'
import { append, type Edge, rootOf } from '../../../crypto/merkle.ts'
import { NoteError } from '../../../crypto/signed-note.ts'
import { TamperedError } from '../../../domain/tampered-error.ts'
import type { LogCheckpointRow, LogHead } from '../../../store/rows.ts'
import type { Vault } from '../../vault/vault.ts'
import { type LogOwner, logOwners, theOperator } from '../log-owner.ts'
import { provenLines } from './proven-lines.ts'
import { RetentionPassedError } from './told-records.ts'
import { openCheckpointState, openTree } from './tree-state.ts'
import { damagedCheckpoint, walkCheckpoints } from './walk-checkpoints.ts'

/** Blocks that are looked at behind the last record that was known. */
const blocksBehindMax = 100
/** How often a log is begun anew because retention has removed what was to be read next. */
const passesMax = 3

/** As the verifier of exports grades them: its exit code is that of the worst. */
export const severities = { altered: 2, cut: 3, forked: 4 } as const
export type Severity = keyof typeof severities

/** An anchor as it was before anything else was read. */
export type AnchorSnapshot = {
  readonly name: string
  /** Its newest note; undefined if it has none yet. */
  readonly newest: string | undefined
}

/** What the verifier of exports says: its exit code, and its lines. */
export type ExportVerdict = { readonly code: number; readonly lines: readonly string[] }

export type LogsVerdict = { readonly logs: number; readonly checkpoint: number }

/**
 * L6: verifies every log in storage, as the verifier verifies its export, and what an export cannot show: blocks and trees that do not
 * open, logs without an owner, heads that storage has set back, checkpoints that are not those of their leaves.
 */
export const verifyLogs = async (
  vault: Vault,
  options: {
    readonly anchors: readonly AnchorSnapshot[]
    /** Compares it with the anchor of this name as well. */
    verifyExport(lines: AsyncIterable<string>, anchor: string | undefined): Promise<ExportVerdict>
    find(severity: Severity, what: string): void
  },
): Promise<LogsVerdict> => new LogsVerification(vault, options).run()

type OpenedAnchor = { readonly name: string; readonly note: string; readonly checkpoint: Checkpoint }

class LogsVerification {
  readonly #vault: Vault
  readonly #options: Parameters<typeof verifyLogs>[1]
  readonly #work
  readonly #anchored: readonly OpenedAnchor[]
  /** Whether storage has what its anchors hold. What is signed on top of storage that was rolled back would be one more future. */
  #isAnchored = true
  #logs = 0

  constructor(vault: Vault, options: Parameters<typeof verifyLogs>[1]) {
    this.#vault = vault
    this.#options = options
    this.#work = vault.scheduler.background('verify-logs')
    this.#anchored = this.#openAnchors()
  }

  async run(): Promise<LogsVerdict> {
    const { store, evidence, acts } = this.#vault
    await acts.flush()
    const newest = await store.newestCheckpoint()
    const roots = await this.#verifyCheckpoints(newest)
    if (roots !== undefined) {
      for (const anchor of this.#anchored) await this.#verifyAnchor(anchor, roots, newest?.size ?? 0)
      if (this.#isAnchored) await evidence.catchUp()
      await this.#verifyOwners()
      for await (const owner of logOwners(this.#vault.store)) {
        this.#logs++
        await this.#verifyLog(owner)
      }
    }
    return { logs: this.#logs, checkpoint: (await store.newestCheckpoint())?.size ?? 0 }
  }

  #find(severity: Severity, what: string): void {
    this.#options.find(severity, what)
  }

  /**
   * Every checkpoint must be signed, sealed, and that of its leaves. Returns the roots of the tree at the sizes that the anchors hold;
   * undefined if nothing can be proven.
   */
  async #verifyCheckpoints(
    newest: LogCheckpointRow | undefined,
  ): Promise<ReadonlyMap<number, Buffer> | undefined> {
    const roots = new Map<number, Buffer>([[0, rootOf([])]])
    const wanted = new Set(this.#anchored.map(({ checkpoint }) => checkpoint.size))
    let edge: Edge = []
    let size = 0
    try {
      const steps = walkCheckpoints(this.#vault, { from: 0, until: newest?.size ?? 0, work: this.#work })
      for await (const { checkpoint, leaves } of steps) {
        for (const { hash } of leaves) {
          edge = append(edge, size++, [hash])
          if (wanted.has(size)) roots.set(size, rootOf(edge))
        }
        this.#requireSound(checkpoint, edge)
      }
    } catch (error) {
      if (!(error instanceof TamperedError)) throw error
      this.#find('altered', `${error.message}; no log can be proven`)
      return undefined
    }
    return roots
  }

  #openAnchors(): OpenedAnchor[] {
    const { signer } = this.#vault.evidence.keys
    return this.#options.anchors.flatMap(({ name, newest: note }) => {
      if (note === undefined) return []
      try {
        return [{ name, note, checkpoint: openCheckpoint(note, signer) }]
      } catch (error) {
        if (!(error instanceof NoteError)) throw error
        this.#find('altered', `${name}: its newest note is not this vault's: ${error.message}`)
        return []
      }
    })
  }

  #requireSound(row: LogCheckpointRow, edge: Edge): void {
    const { keys } = this.#vault.evidence
    const root = rootOf(edge)
    const state = openCheckpointState(keys, row)
    try {
      const checkpoint = openCheckpoint(row.note, keys.signer)
      if (
        checkpoint.size === row.size &&
        checkpoint.time === row.at &&
        checkpoint.root.equals(root) &&
        rootOf(state.edge).equals(root)
      )
        return
    } catch (error) {
      if (!(error instanceof NoteError)) throw error
    }
    throw damagedCheckpoint(row.size)
  }

  /** Storage has all leaves, so it can tell a fork even where it has no checkpoint of the anchor's size. */
  async #verifyAnchor(
    { name, note, checkpoint }: OpenedAnchor,
    roots: ReadonlyMap<number, Buffer>,
    newest: number,
  ): Promise<void> {
    if (await this.#vault.evidence.isOurPast(note)) return
    this.#isAnchored = false
    const { size, root } = checkpoint
    if (size > newest)
      this.#find(
        'cut',
        `${name} is at checkpoint ${size}, and storage at ${newest}: it was rolled back or cut. If that was you: strongroom logs accept-rollback ${newest}`,
      )
    else if (roots.get(size)?.equals(root)) this.#find('cut', `storage lacks checkpoint ${size} of ${name}`)
    else this.#find('forked', `checkpoint ${size} of ${name} is not of this storage: the log has two futures`)
  }

  async #verifyOwners(): Promise<void> {
    const { store } = this.#vault
    for (const { tenant, id } of await store.listTenants())
      if ((await store.findLogOwner(id))?.tenant !== tenant)
        this.#find('altered', `tenant ${id}: storage does not know its log any more`)
  }

  async #verifyLog(owner: LogOwner): Promise<void> {
    const { evidence, store } = this.#vault
    const name = nameOf(owner)
    for (let pass = 1; ; pass++) {
      const found = new Map<string, Severity>()
      const find = (severity: Severity, what: string): void => void found.set(what, severity)
      try {
        const heads = await store.listLogHeads(owner.tenantNumber)
        if (this.#isAnchored) await evidence.catchUp()
        const proven = new Map<number, number>()
        // Nothing has been recorded, or all checkpoints are gone: the log's own heads tell.
        if ((await store.newestCheckpoint()) === undefined) {
          await this.#verifyHeads(owner, heads, proven, find)
          for (const [what, severity] of found) this.#find(severity, `${name}: ${what}`)
          return
        }
        const lines = () =>
          provenLines(this.#vault, owner, {
            work: this.#work,
            anchored: this.#anchored.map(({ checkpoint }) => checkpoint.size),
            onDamagedTree: (writer, error) => {
              if (!(error instanceof TamperedError)) throw error
              find('altered', `the tree of writer ${writer} does not open`)
            },
            onDamage: ({ writer, first, records }) =>
              find(
                'altered',
                `the block with records ${writer}.${first} to ${writer}.${first + records - 1} does not open, or does not stand where it should`,
              ),
            onProven: (writer, size) => proven.set(writer, size),
          })
        // One log is enough: all of them end with the same checkpoints.
        const withAnchors = this.#isAnchored && owner.tenantNumber === theOperator.tenantNumber
        const anchors = withAnchors ? this.#anchored.map(anchor => anchor.name) : []
        for (const anchor of anchors.length > 0 ? anchors : [undefined])
          addFindings(await this.#options.verifyExport(lines(), anchor), find)
        await this.#verifyHeads(owner, heads, proven, find)
      } catch (error) {
        if (error instanceof RetentionPassedError && pass < passesMax) continue
        if (!(error instanceof TamperedError)) throw error
        found.clear()
        find('altered', error.message)
      }
      for (const [what, severity] of found) this.#find(severity, `${name}: ${what}`)
      return
    }
  }

  /** Compares what storage says about a log's sizes with what its leaves say. `before`: heads from before everything was proven. */
  async #verifyHeads(
    { tenantNumber }: LogOwner,
    before: readonly LogHead[],
    proven: ReadonlyMap<number, number>,
    find: (severity: Severity, what: string) => void,
  ): Promise<void> {
    const { store, evidence } = this.#vault
    const cursors = before.map(({ writer, size: from }) => ({ writer, from }))
    const blocks = await store.readLog(tenantNumber, cursors, { limit: blocksBehindMax })
    const heads = await store.listLogHeads(tenantNumber)
    for (const { writer, first, records } of blocks)
      if (first + records > (heads.find(found => found.writer === writer)?.size ?? 0))
        find('altered', `a block from ${writer}.${first} on stands behind the last record`)
    for (const [writer, size] of proven) {
      const head = heads.find(found => found.writer === writer)?.size ?? 0
      if (head < size)
        find('altered', `storage counts ${head} records of writer ${writer}, and ${size} are proven`)
    }
    for (const { writer, size } of before) {
      const known = proven.get(writer) ?? 0
      if (size <= known || !this.#isAnchored) continue
      const row = await store.getLogTree(tenantNumber, writer)
      const tree = await tryOpening(() => openTree(evidence.keys, row).size)
      const records = `records ${writer}.${known} to ${writer}.${size - 1}`
      if (tree !== undefined && tree > known)
        find('cut', `${records} had been proven, and their checkpoints are gone`)
      else find('altered', `${records} cannot be proven: they were changed before, or the tree was`)
    }
  }
}

/** Lines that are no findings are notes for people. */
const addFindings = (
  { code, lines }: ExportVerdict,
  find: (severity: Severity, what: string) => void,
): void => {
  let worst = 0
  for (const line of lines)
    for (const severity of ['altered', 'cut', 'forked'] as const)
      if (line.startsWith(`${severity}: `)) {
        find(severity, line.slice(severity.length + 2))
        worst = Math.max(worst, severities[severity])
      }
  for (const severity of ['altered', 'cut', 'forked'] as const)
    if (code === severities[severity] && code > worst) find(severity, 'more was found than is shown')
}

const tryOpening = async <T>(open: () => T): Promise<T | undefined> => {
  try {
    return open()
  } catch (error) {
    if (!(error instanceof TamperedError)) throw error
    return undefined
  }
}

const nameOf = ({ tenantNumber, keys: { tenantId } }: LogOwner): string =>
  tenantNumber === theOperator.tenantNumber ? "the operator's log" : `log of tenant ${tenantId}`
