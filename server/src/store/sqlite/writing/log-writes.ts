import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { LogShare, SealedBlock } from './sealed-sets.ts'

/** There is one writer: whoever holds the write lock. */
const writer = 0

/** Appends a block of which this many records count. Moves the log's head, which numbers them. */
export type AppendBlock = (
  tenant: number,
  block: SealedBlock,
  records: number,
  kept: Uint8Array | null,
) => void

export const logAppender = (database: DatabaseSync): AppendBlock => {
  const moveHead = database.prepare(
    `INSERT INTO log_heads (tenant, writer, size) VALUES (?,${writer},?)
     ON CONFLICT DO UPDATE SET size = size + excluded.size RETURNING size`,
  )
  moveHead.setReturnArrays(true)
  const append = database.prepare(
    `INSERT INTO log (tenant, writer, first_record, records, kept, first_at, last_at, sealed)
     VALUES (?,${writer},?,?,?,?,?,?)`,
  )
  return (tenant, { firstAt, lastAt, sealed }, records, kept) => {
    const [size] = moveHead.get(tenant, records) as unknown as SQLOutputValue[]
    append.run(tenant, Number(size) - records, records, kept, firstAt, lastAt, sealed)
  }
}

/** What a batch adds to logs. The shares of a block become one row, which leaves out those of sets that were dropped. */
export class LogWrites {
  readonly #append: AppendBlock
  #shares = new Map<SealedBlock, { readonly tenant: number; readonly shares: LogShare[] }>()

  constructor(database: DatabaseSync) {
    this.#append = logAppender(database)
  }

  /** Called first in each transaction. */
  begin(): void {
    if (this.#shares.size > 0) this.#shares = new Map()
  }

  add(tenant: number, share: LogShare): void {
    const known = this.#shares.get(share.block)
    if (known === undefined) this.#shares.set(share.block, { tenant, shares: [share] })
    else known.shares.push(share)
  }

  /** Called before the commit. */
  append(): void {
    for (const [block, { tenant, shares }] of this.#shares) {
      let records = 0
      for (const share of shares) records += share.records
      this.#append(tenant, block, records, records === block.records ? null : keptOf(block, shares))
    }
  }
}

/** See `LogBlockRow`. */
const keptOf = (block: SealedBlock, shares: readonly LogShare[]): Uint8Array => {
  const bits = new Uint8Array(Math.ceil(block.records / 8))
  for (const { from, records } of shares)
    for (let at = from; at < from + records; at++) bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7))
  return bits
}
