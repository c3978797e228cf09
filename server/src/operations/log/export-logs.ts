import type { LogExportQuery } from '../../contract/log/query.ts'
import type { LogPosition } from '../../crypto/cursor.ts'
import { lineOf } from '../../domain/acts/block.ts'
import { logMatcher } from '../../domain/acts/log-filter.ts'
import type { Vault } from '../vault/vault.ts'
import { openPlace, sealPlace } from './evidence/proven-place.ts'
import {
  type ProvenPlace,
  type ProvenStage,
  provenStages,
  provenStart,
  type ToldCheckpoint,
} from './evidence/proven-stages.ts'
import { LogQuery } from './log-query.ts'
import { type LogRange, type LogReader, rangesWithin, readRecords } from './read-records.ts'

/** Records between two cursors: those shown, and those examined. */
const linesPerCursor = 1_000
const recordsPerCursor = 20_000
/** Text is handed on in pieces of about this many characters. */
const pieceLength = 1 << 16

/** What is exported before the lines of evidence that follow it. */
type Stage = Pick<ProvenStage, 'ranges' | 'evidence' | 'isLast'> & { readonly checkpoint?: ToldCheckpoint }

/**
 * L5: oldest first, a record on each line, all of them for each writer. Between the records, and after the last one, lines
 * `{"next"}` hold the cursor at which an export can be resumed. Without filters it has the evidence as well (L4), up to what is
 * proven when it begins.
 */
export class LogExport {
  readonly #vault: Vault
  readonly #reader: LogReader
  readonly #query: LogQuery
  /** Where the text that was handed on ends. */
  #position: LogPosition
  /** The last checkpoint in it. */
  #checkpoint: ToldCheckpoint
  #left: number

  /** Throws 400 if the start is not a cursor of such an export. */
  constructor(vault: Vault, reader: LogReader, { filter, start, size }: LogExportQuery) {
    this.#vault = vault
    this.#reader = reader
    this.#query = new LogQuery(vault, reader, 'export', filter)
    const place = this.#placeOf(start)
    this.#position = place.told
    this.#checkpoint = place.checkpoint
    this.#left = size ?? Number.POSITIVE_INFINITY
  }

  /** Whether it has as many records as were asked for. */
  get isOver(): boolean {
    return this.#left === 0
  }

  /** The line with the cursor that goes on after the text that was handed on. */
  get cursorLine(): string {
    return this.#cursorLineAt({ told: this.#position, checkpoint: this.#checkpoint })
  }

  #placeOf(start: string | undefined): ProvenPlace {
    if (start === undefined) return provenStart
    return this.#query.isFiltered
      ? { ...provenStart, told: this.#query.positionOf(start) ?? new Map() }
      : openPlace(this.#vault, this.#reader, start)
  }

  /**
   * The lines, in pieces, from where the text ended that was handed on before, up to what is stored now. The last one is a cursor,
   * unless there was nothing: then there is one only with `endsAnyway`. After a fault, another call goes on.
   */
  async *lines({ endsAnyway = true } = {}): AsyncGenerator<string> {
    const reading = { within: this.#query.within, backwards: false }
    const isMeant = logMatcher(this.#query.filter)
    const position = new Map(this.#position)
    let checkpoint = this.#checkpoint
    let left = this.#left
    let piece = ''
    let shown = 0
    let examined = 0
    let isNews = endsAnyway
    const handOn = (): string => {
      this.#position = new Map(position)
      this.#checkpoint = checkpoint
      this.#left = left
      const text = piece
      piece = ''
      return text
    }
    if (endsAnyway && !this.#query.isFiltered) await this.#vault.evidence.catchUp()
    stages: for await (const { ranges, evidence, isLast, checkpoint: told } of this.#stages()) {
      const wanted = await rangesWithin(this.#vault, this.#reader, ranges, reading)
      for (const { writer, first } of wanted) position.set(writer, first)
      for await (const run of readRecords(this.#vault, this.#reader, wanted, reading))
        for (const { writer, next, record } of run) {
          if (left === 0) break stages
          position.set(writer, next)
          examined++
          isNews = true
          if (record !== undefined && isMeant(record)) {
            piece += `${lineOf(record)}\n`
            shown++
            left--
          }
          const isCursorDue = shown === linesPerCursor || examined === recordsPerCursor
          if (isCursorDue) {
            piece += this.#cursorLineAt({ told: position, checkpoint })
            shown = 0
            examined = 0
          }
          if (isCursorDue || piece.length >= pieceLength) yield handOn()
        }
      for (const { writer, end } of ranges) position.set(writer, end)
      // Checkpoints over other logs are told with the next records.
      if (isLast && !isNews) break
      piece += evidence
      if (evidence !== '') isNews = true
      checkpoint = told ?? checkpoint
    }
    if (isNews) piece += this.#cursorLineAt({ told: position, checkpoint })
    if (piece !== '') yield handOn()
    else handOn()
  }

  /** Without filters, a stage for each checkpoint that has to do with this log. */
  #stages(): AsyncIterable<Stage> {
    const place = { told: this.#position, checkpoint: this.#checkpoint }
    return this.#query.isFiltered
      ? this.#recordsAlone()
      : provenStages(this.#vault, this.#reader, {
          work: this.#reader.work,
          place,
          anchored: this.#vault.anchoring.sizes,
        })
  }

  async *#recordsAlone(): AsyncGenerator<Stage> {
    yield { ranges: await this.#rangesUpToNow(this.#position), evidence: '', isLast: false }
  }

  async #rangesUpToNow(position: LogPosition): Promise<LogRange[]> {
    const heads = await this.#vault.store.listLogHeads(this.#reader.tenantNumber)
    return heads.map(({ writer, start, size }) => ({
      writer,
      first: Math.max(start, position.get(writer) ?? 0),
      end: size,
    }))
  }

  #cursorLineAt(place: ProvenPlace): string {
    const next = this.#query.isFiltered
      ? this.#query.cursorAt(place.told)
      : sealPlace(this.#vault, this.#reader, place)
    return `${JSON.stringify({ next })}\n`
  }
}

/** The lines of an export of what is stored now. */
export const exportLogs = (vault: Vault, reader: LogReader, query: LogExportQuery): AsyncIterable<string> =>
  new LogExport(vault, reader, query).lines()
