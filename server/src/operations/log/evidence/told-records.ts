import { lineOf } from '../../../domain/acts/block.ts'
import { TamperedError } from '../../../domain/tampered-error.ts'
import type { LogBlockRow } from '../../../store/rows.ts'
import type { Vault } from '../../vault/vault.ts'
import type { LogOwner } from '../log-owner.ts'
import { openTree } from './tree-state.ts'

/** Blocks that are read at a time: about this many bytes, and at most this many rows. */
const bytesAtOnce = 1 << 18
const blocksAtOnceMax = 64
const blocksAtFirst = 4

/** Retention has removed records that were to be told next. Whoever tells them begins anew. */
export class RetentionPassedError extends Error {
  constructor() {
    super('retention has removed records that were to be exported next: export the log from its beginning')
    this.name = 'RetentionPassedError'
  }
}

/** Told of a block that does not open, or does not stand where it should. */
export type OnDamage = (block: Pick<LogBlockRow, 'writer' | 'first' | 'records'>) => void

type Opened = { readonly first: number; readonly lines: readonly string[] }

/**
 * The lines of the records of one writer, in order, from what storage holds. What is missing there is left out, and duplicates are
 * told as they are: a verifier is to name them.
 */
export class ToldRecords {
  readonly #vault: Pick<Vault, 'store' | 'acts' | 'evidence'>
  readonly #owner: LogOwner
  readonly #writer: number
  readonly #onDamage: OnDamage
  #next: number
  #opened: Opened | undefined
  #blocks: LogBlockRow[] = []
  /** Where the blocks that were opened end. */
  #end: number | undefined
  #limit = blocksAtFirst

  constructor(
    vault: Pick<Vault, 'store' | 'acts' | 'evidence'>,
    owner: LogOwner,
    { writer, from, onDamage }: { writer: number; from: number; onDamage: OnDamage },
  ) {
    this.#vault = vault
    this.#owner = owner
    this.#writer = writer
    this.#next = from
    this.#onDamage = onDamage
  }

  /** Those before `end` that were not told yet, block by block, and the number of the record that comes next. */
  async *upTo(end: number): AsyncGenerator<{ readonly lines: readonly string[]; readonly next: number }> {
    while (this.#next < end) {
      if (this.#opened === undefined || this.#opened.first + this.#opened.lines.length <= this.#next)
        this.#opened = await this.#open()
      if (this.#opened === undefined || this.#opened.first >= end) return
      const { first, lines } = this.#opened
      const from = Math.max(this.#next, first)
      this.#next = Math.min(end, first + lines.length)
      yield { lines: lines.slice(from - first, this.#next - first), next: this.#next }
    }
  }

  async #open(): Promise<Opened | undefined> {
    while (true) {
      const block = this.#blocks.shift() ?? (await this.#read())
      if (block === undefined) return undefined
      const { first, records } = block
      if (this.#end !== undefined && first < this.#end) this.#onDamage(block)
      if (first > (this.#end ?? this.#next)) await this.#requireKept()
      if (first + records <= (this.#end ?? this.#next)) {
        // Storage would return it again and again.
        this.#onDamage(block)
        this.#end = (this.#end ?? this.#next) + 1
        this.#blocks = []
        continue
      }
      const lines = this.#linesOf(block)
      // What storage says about the number of its records is not sealed; the block itself is.
      this.#end = first + (lines?.length ?? records)
      if (lines !== undefined) return { first, lines }
    }
  }

  #linesOf(block: LogBlockRow): readonly string[] | undefined {
    try {
      const records = this.#vault.acts.recordsIn(this.#owner, block)
      if (records.length !== block.records) this.#onDamage(block)
      return records.map(lineOf)
    } catch (error) {
      if (!(error instanceof TamperedError)) throw error
      this.#onDamage(block)
      return undefined
    }
  }

  async #read(): Promise<LogBlockRow | undefined> {
    const cursor = { writer: this.#writer, from: this.#end ?? this.#next }
    const blocks = await this.#vault.store.readLog(this.#owner.tenantNumber, [cursor], { limit: this.#limit })
    const bytes = blocks.reduce((sum, { sealed }) => sum + sealed.length, 1)
    this.#limit = Math.max(1, Math.min(blocksAtOnceMax, Math.floor((bytesAtOnce * blocks.length) / bytes)))
    const [next, ...rest] = blocks
    this.#blocks = rest
    return next
  }

  /** Retention works while others read. */
  async #requireKept(): Promise<void> {
    const { store, evidence } = this.#vault
    const row = await store.getLogTree(this.#owner.tenantNumber, this.#writer)
    if (openTree(evidence.keys, row).cut.size > this.#next) throw new RetentionPassedError()
  }
}
