import { Act, type ActKind, tokensPerRecord } from '../../domain/acts/act.ts'
import { stringify } from '../../domain/json/json.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import { isExpired, type Token } from '../../domain/tokens/token.ts'
import { tokenTypes } from '../../domain/tokens/types/registry.ts'
import type { TokenRow } from '../../store/rows.ts'
import { openTokenRow } from '../tokens/token-rows.ts'
import { UnreadableRows } from '../tokens/unreadable-rows.ts'
import { typeCounter } from '../vault/counters.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { exportedRow } from './exported-row.ts'

/** Rows of one read, as many as make about this many bytes: a row may take a megabyte, and memory has a limit. */
const rowsPerReadMax = 64
const bytesPerRead = 1 << 19
/** A piece leaves once this many characters are in it, or when its record is full. */
const charactersPerPiece = 1 << 19

/**
 * Every living token of a tenant as a line of JSON, in the order of their ids. Each piece leaves after the record of what it shows
 * is durable, and the first after one of the whole (L1). Tokens that are created or changed meanwhile may be in it or not.
 */
export class TokenExport {
  readonly #vault: Vault
  readonly #operator: Caller
  readonly #kind: ActKind
  readonly unreadable = new UnreadableRows()
  exported = 0

  constructor(vault: Vault, operator: Caller, kind: ActKind) {
    this.#vault = vault
    this.#operator = operator
    this.#kind = kind
  }

  /** How many tokens there are about: those that have expired and are not purged yet included. */
  async count(): Promise<number> {
    const names = [...tokenTypes.keys()].map(typeCounter)
    const counters = await this.#vault.store.readCounters(this.#operator.tenantNumber, names)
    return counters.reduce((sum, { value }) => sum + value, 0)
  }

  async *pieces(): AsyncGenerator<string> {
    const { acts } = this.#vault
    const { act } = this.#operator
    await acts.record(this.#operator, act)
    let lines: string[] = []
    let characters = 0
    let shown = this.#newAct()
    const piece = async (): Promise<string> => {
      await acts.record(this.#operator, shown)
      const text = lines.join('')
      this.exported += lines.length
      lines = []
      characters = 0
      shown = this.#newAct()
      return text
    }
    for await (const rows of this.#pages()) {
      for (const token of this.#opened(rows)) {
        const line = `${stringify(exportedRow(token))}\n`
        lines.push(line)
        characters += line.length
        shown.touches(token, 'token:read', { transform: 'reveal' })
        if (characters >= charactersPerPiece || lines.length >= tokensPerRecord) yield await piece()
      }
    }
    if (lines.length > 0) yield await piece()
  }

  #newAct(): Act {
    const { actor, traceId } = this.#operator.act
    return new Act(this.#kind, actor, traceId)
  }

  async *#pages(): AsyncGenerator<TokenRow[]> {
    let limit = 1
    for (let after: string | undefined; ; ) {
      const rows = await this.#vault.store.scanTokens(this.#operator.tenantNumber, after, limit)
      if (rows.length === 0) return
      yield rows
      after = rows.at(-1)?.id
      // A scan cannot go on behind an id that is not text.
      if (after === '') return
      const bytes = rows.reduce((sum, { sealed }) => sum + sealed.length, 0)
      const fitting = Math.floor((bytesPerRead * rows.length) / bytes)
      limit = Math.max(1, Math.min(fitting, limit * 2, rowsPerReadMax))
    }
  }

  *#opened(rows: readonly TokenRow[]): Generator<Token> {
    const now = this.#vault.clock()
    for (const row of rows) {
      try {
        const token = openTokenRow(row, [], this.#operator.keys)
        if (!isExpired(token, now)) yield token
      } catch (error) {
        if (!(error instanceof TamperedError)) throw error
        this.unreadable.note(error)
      }
    }
  }
}
