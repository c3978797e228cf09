import { TamperedError } from '../../../domain/tampered-error.ts'
import type { Vault } from '../../vault/vault.ts'
import type { LogOwner } from '../log-owner.ts'
import { openPlace, sealPlace } from './proven-place.ts'
import { type ProvenOptions, provenStages, provenStart } from './proven-stages.ts'
import { type OnDamage, ToldRecords } from './told-records.ts'

/** Records between two cursors. */
const recordsPerCursor = 1_000
/** Text is handed on in pieces of about this many characters. */
const pieceLength = 1 << 16

/**
 * The whole export of one log with its evidence, oldest first, in pieces of whole lines: what `bin/verify-log.js` reads. It ends with
 * what is proven when it begins; see `evidence.catchUp`. Memory does not grow with the log.
 */
export async function* provenLines(
  vault: Pick<Vault, 'store' | 'acts' | 'evidence'>,
  owner: LogOwner,
  options: Omit<ProvenOptions, 'place'> & {
    /** A cursor of an earlier export, behind which this one goes on. */
    readonly start?: string | undefined
    /** A block does not open. It throws by default. */
    readonly onDamage?: OnDamage
    /** Told of each head, by writer. */
    readonly onProven?: (writer: number, size: number) => void
  },
): AsyncGenerator<string> {
  const { work, start, onDamage = throwing(owner) } = options
  const place = start === undefined ? provenStart : openPlace(vault, owner, start)
  const told = new Map(place.told)
  const writers = new Map<number, ToldRecords>()
  let { checkpoint } = place
  let piece = ''
  let records = 0
  const cursorLine = (): string => {
    records = 0
    return `${JSON.stringify({ next: sealPlace(vault, owner, { checkpoint, told }) })}\n`
  }
  for await (const stage of provenStages(vault, owner, { ...options, place })) {
    for (const { writer, first, end } of stage.ranges) {
      const known = writers.get(writer)
      const reader = known ?? new ToldRecords(vault, owner, { writer, from: first, onDamage })
      writers.set(writer, reader)
      for await (const { next, lines } of reader.upTo(end)) {
        for (const line of lines) piece += `${line}\n`
        records += lines.length
        told.set(writer, next)
        if (records >= recordsPerCursor) piece += cursorLine()
        if (piece.length >= pieceLength) {
          yield piece
          piece = ''
        }
        if (!work.hasTurn) await work.turn()
      }
      told.set(writer, end)
      options.onProven?.(writer, end)
    }
    piece += stage.evidence
    const isTold = stage.evidence !== '' && stage.checkpoint !== checkpoint
    checkpoint = stage.checkpoint
    if (isTold) piece += cursorLine()
    if (piece.length >= pieceLength) {
      yield piece
      piece = ''
    }
  }
  if (piece !== '') yield piece
}

const throwing =
  ({ keys: { tenantId } }: LogOwner): OnDamage =>
  () => {
    throw new TamperedError({ kind: 'block of the log', tenantId })
  }
