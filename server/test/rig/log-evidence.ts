import { spawnSync } from 'node:child_process'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { headLeaf, signCheckpoint } from '../../src/crypto/checkpoint.ts'
import {
  append,
  consistencyProof,
  inclusionProof,
  leafHash,
  rootOf,
  type Subtrees,
  subtreesOf,
} from '../../src/crypto/merkle.ts'
import { type NoteSigner, noteSigner, verifierKeyText } from '../../src/crypto/signed-note.ts'

type Head = {
  readonly tenantId: string
  readonly writer: number
  readonly size: number
  readonly root: Buffer
  readonly index: number
}
type StoredCheckpoint = {
  readonly size: number
  readonly epochStarts: readonly number[]
  readonly time: number
}

const base64 = (hash: Buffer): string => hash.toString('base64')

/**
 * The log of a vault without the vault: records, heads and checkpoints in memory, and exports of them as `bin/verify-log.js` reads
 * them. What is exported follows from records alone, so a copy of it is a backup, and two copies are two futures.
 */
export class LogEvidence {
  readonly signer: NoteSigner
  #now = Date.UTC(2026, 10, 19, 12)
  /** The lines of each writer, by tenant. */
  #lines = new Map<string, Map<number, string[]>>()
  #heads: Head[] = []
  #leaves: Buffer[] = []
  #checkpoints: StoredCheckpoint[] = []
  #epochStarts: readonly number[] = []
  /** The first record that retention has left, by tenant and writer. */
  #kept = new Map<string, number>()

  constructor(privateKey: KeyObject = generateKeyPairSync('ed25519').privateKey) {
    this.signer = noteSigner('vault.example/log', privateKey)
  }

  get key(): string {
    return verifierKeyText(this.signer)
  }

  /** As storage is copied: both go on from here. */
  backup(): LogEvidence {
    const copy = new LogEvidence(this.signer.privateKey)
    copy.#now = this.#now
    copy.#lines = structuredClone(this.#lines)
    copy.#heads = [...this.#heads]
    copy.#leaves = [...this.#leaves]
    copy.#checkpoints = [...this.#checkpoints]
    copy.#epochStarts = this.#epochStarts
    copy.#kept = new Map(this.#kept)
    return copy
  }

  /** Stores records of a writer. */
  act(tenantId: string, writer = 0, count = 1, what = 'getToken'): this {
    const writers = this.#lines.get(tenantId) ?? new Map<number, string[]>()
    const lines = writers.get(writer) ?? []
    for (let n = 0; n < count; n++) {
      const at = new Date(this.#now + lines.length).toISOString()
      const sequence = `${writer}.${lines.length}`
      lines.push(JSON.stringify({ at, tenant_id: tenantId, sequence, operation: what, name: 'Zoë' }))
    }
    this.#lines.set(tenantId, writers.set(writer, lines))
    return this
  }

  /** A head for each writer that grew, and the note of the new checkpoint. */
  checkpoint(): string {
    this.#now += 1_000
    for (const [tenantId, writers] of this.#lines)
      for (const [writer, lines] of writers) {
        const sealed = this.#heads.findLast(head => head.tenantId === tenantId && head.writer === writer)
        if (sealed?.size === lines.length) continue
        const index = this.#leaves.length
        const head = { tenantId, writer, size: lines.length, root: rootOf(edgeOf(lines)), index }
        this.#heads.push(head)
        this.#leaves.push(leafHash(headLeaf(head)))
      }
    this.#checkpoints.push({ size: this.#leaves.length, epochStarts: this.#epochStarts, time: this.#now })
    return this.#note(this.#checkpoints.length - 1)
  }

  /** The operator accepts that this is an older state: a new epoch begins here. */
  acceptRollback(): void {
    this.#epochStarts = [...this.#epochStarts, this.#leaves.length]
  }

  /** Retention removes what comes before this record. */
  removeBefore(tenantId: string, writer: number, first: number): void {
    this.#kept.set(`${tenantId} ${writer}`, first)
  }

  #first(tenantId: string, writer: number): number {
    return this.#kept.get(`${tenantId} ${writer}`) ?? 0
  }

  #root(size: number): Buffer {
    return rootOf(append([], 0, this.#leaves.slice(0, size)))
  }

  get #subtrees(): Subtrees {
    return subtreesOf({ cut: 0, edge: [], leafHashes: (start, end) => this.#leaves.slice(start, end) })
  }

  #note(at: number, endOf?: string): string {
    const { size, epochStarts, time } = this.#checkpoints[at]!
    const end = endOf === undefined ? {} : { end: { tenantId: endOf, writers: this.#writersAt(endOf, size) } }
    return signCheckpoint({ size, root: this.#root(size), epochStarts, time, ...end }, this.signer)
  }

  #writersAt(tenantId: string, checkpointSize: number) {
    const heads = this.#heads.filter(head => head.tenantId === tenantId && head.index < checkpointSize)
    const latest = new Map(heads.map(({ writer, size }) => [writer, size]))
    return [...latest]
      .sort(([a], [b]) => a - b)
      .map(([writer, size]) => ({ writer, first: this.#first(tenantId, writer), size }))
  }

  /**
   * The export of a tenant, as lines: what was not told up to checkpoint `after` (an index), with an edge where retention has removed
   * what came before, or with `edges` at every head. Checkpoint
   * `leaveOut` is left out.
   */
  export(tenantId: string, { after = -1, edges = false, leaveOut = -1 } = {}): string[] {
    const out: string[] = []
    const say = (line: object): void => void out.push(JSON.stringify(line))
    const told = new Map<number, number>()
    const since = this.#checkpoints[after]?.size ?? 0
    for (const { writer, size } of this.#writersAt(tenantId, since)) told.set(writer, size)
    let from = since
    for (const [at, { size: upTo }] of this.#checkpoints.entries()) {
      if (at <= after || at === leaveOut) continue
      const heads = this.#heads.filter(
        head => head.tenantId === tenantId && head.index >= from && head.index < upTo,
      )
      for (const { writer, size, root, index } of heads) {
        const first = this.#first(tenantId, writer)
        if (size <= first && !this.#isLatest(tenantId, writer, size)) continue
        const lines = this.#lines.get(tenantId)?.get(writer) ?? []
        if (!told.has(writer) && first > 0)
          say({
            head: {
              tenant_id: tenantId,
              writer,
              size: first,
              edge: edgeOf(lines.slice(0, first)).map(base64),
            },
          })
        out.push(...lines.slice(told.get(writer) ?? first, size))
        told.set(writer, size)
        const proof = inclusionProof(this.#subtrees, index, upTo)?.map(base64)
        const edge = edges ? { edge: edgeOf(lines.slice(0, size)).map(base64) } : {}
        say({ head: { tenant_id: tenantId, writer, size, root: base64(root), index, proof, ...edge } })
      }
      const isLast = at === this.#checkpoints.length - 1
      const proof = consistencyProof(this.#subtrees, from, upTo)?.map(base64)
      say({ checkpoint: { note: this.#note(at, isLast ? tenantId : undefined), from, proof } })
      say({ next: `cursor ${at}` })
      from = upTo
    }
    return out
  }

  #isLatest(tenantId: string, writer: number, size: number): boolean {
    return this.#heads.findLast(head => head.tenantId === tenantId && head.writer === writer)?.size === size
  }
}

const edgeOf = (lines: readonly string[]) => append([], 0, lines.map(leafHash))

const program = join(import.meta.dirname, '../../bin/verify-log.js')

export type Verdict = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** Runs the verifier in a process of its own, as its users do. */
export const runVerifier = (args: readonly string[], input?: string, file = program): Verdict => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [file, ...args], {
    encoding: 'utf8',
    ...(input !== undefined && { input }),
    timeout: 60_000,
  })
  return { code: status, stdout, stderr }
}

/** Verifies lines of an export, and notes of an anchor, which are written to the folder. */
export const verifyLines = (
  folder: string,
  key: string,
  lines: readonly string[],
  anchor?: readonly string[],
): Verdict => {
  const [exported, anchored] = [join(folder, 'export.ndjson'), join(folder, 'anchor')]
  writeFileSync(exported, lines.map(line => `${line}\n`).join(''))
  if (anchor !== undefined) writeFileSync(anchored, anchor.join(''))
  return runVerifier([exported, '--key', key, ...(anchor === undefined ? [] : ['--anchor', anchored])])
}
