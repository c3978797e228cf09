import { type LogPosition, openLogCursor, sealLogCursor } from '../../crypto/cursor.ts'
import { type LogFilter, logFilterText } from '../../domain/acts/log-filter.ts'
import { invalid } from '../../domain/errors.ts'
import type { InstantRange } from '../../domain/time/instant.ts'
import type { Vault } from '../vault/vault.ts'
import type { LogReader } from './read-records.ts'

/** What is read of a log, and the cursors that go on with it. */
export class LogQuery {
  readonly filter: LogFilter
  readonly within: InstantRange
  readonly #vaultKeys: Vault['vaultKeys']
  readonly #boundTo: { readonly tenantId: string; readonly boundTo: string }

  constructor(
    { vaultKeys }: Pick<Vault, 'vaultKeys'>,
    { keys: { tenantId }, act }: LogReader,
    kind: 'list' | 'export',
    filter: LogFilter,
  ) {
    const { start_date: from, end_date: until } = filter
    this.filter = filter
    this.within = { ...(from !== undefined && { from }), ...(until !== undefined && { until }) }
    this.#vaultKeys = vaultKeys
    this.#boundTo = { tenantId, boundTo: `${kind} ${logFilterText(filter)}` }
    const fields = Object.keys(filter)
    if (fields.length > 0) act.says({ query: { fields, operators: [] } })
  }

  get isFiltered(): boolean {
    return Object.keys(this.filter).length > 0
  }

  cursorAt(position: LogPosition): string {
    return sealLogCursor(this.#vaultKeys, this.#boundTo, position)
  }

  /** Throws 400 if it is no cursor of this log, kind and filter. */
  positionOf(start: string | undefined): LogPosition | undefined {
    if (start === undefined) return undefined
    const position = openLogCursor(this.#vaultKeys, this.#boundTo, start)
    if (position === undefined)
      throw invalid({
        path: 'start',
        message: 'is not a cursor of this log with these filters; start again without it',
      })
    return position
  }
}
