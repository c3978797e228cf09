import type { LogSeal } from '../../crypto/log-seal.ts'
import { type Act, type ActDetails, recordsOf } from '../../domain/acts/act.ts'
import { BlockWriter } from '../../domain/acts/block.ts'
import type { RecordIdBase } from '../../domain/acts/record-id.ts'
import type { LogPart, SealedLog } from '../../store/write-set.ts'

/** Acts on their way into storage. Those that are committed together are sealed together. */
export class ActsPart implements LogPart {
  readonly records: number
  readonly bytes: number
  readonly #acts: readonly Act[]
  readonly #tenantId: string
  readonly #seal: LogSeal
  readonly #base: RecordIdBase

  constructor(
    acts: readonly Act[],
    { tenantId, seal, base }: { tenantId: string; seal: LogSeal; base: RecordIdBase },
  ) {
    this.#acts = acts
    this.#tenantId = tenantId
    this.#seal = seal
    this.#base = base
    let [records, bytes] = [0, 0]
    for (const act of acts) {
      records += recordsOf(act)
      bytes += bytesOf(act)
    }
    this.records = records
    this.bytes = bytes
  }

  sealWith(others: readonly LogPart[]): SealedLog {
    const block = new BlockWriter(this.#base)
    for (const act of this.#acts) block.add(act)
    for (const other of others) {
      if (!(other instanceof ActsPart)) throw new Error('a part of the log is not of acts')
      for (const act of other.#acts) block.add(act)
    }
    const { firstAt, lastAt } = block
    return { firstAt, lastAt, sealed: this.#seal.seal(this.#tenantId, block, block.text) }
  }
}

const bytesPerRecord = 120
const bytesPerToken = 48
/** What details take in which nothing can be long but an id and an origin. */
const bytesOfShortDetails = 160

/** About what a record takes of memory and of storage. */
export const bytesOf = ({ tokens, details }: Act): number =>
  bytesPerRecord + bytesPerToken * tokens.length + (details === undefined ? 0 : bytesOfDetails(details))

const bytesOfDetails = (details: ActDetails): number => {
  const { entityId = '', destination, fields, query, before, after } = details
  return (fields ?? query ?? before ?? after) === undefined
    ? bytesOfShortDetails + entityId.length + (destination?.origin.length ?? 0)
    : JSON.stringify(details).length
}
