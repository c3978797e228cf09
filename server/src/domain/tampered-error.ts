import { printable } from './text/terminal.ts'
import { hasOwnForm } from './tokens/token-id.ts'

/** Which stored row an error is about; of a kind that a tenant has one of, without an id. */
export type RowName = { readonly kind: string; readonly id?: string; readonly tenantId?: string }

/**
 * A stored row that does not open: it was changed, moved or cut outside the vault. The error names the row, and the log
 * names it by `rowLogName`. The caller sees a plain 500, or 401 if their key depends on that row.
 */
export class TamperedError extends Error {
  readonly row: RowName

  constructor(row: RowName) {
    super(
      `${nameOf(row, printable)} is corrupt: its stored row was changed, moved or truncated outside the vault`,
    )
    this.name = 'TamperedError'
    this.row = row
  }
}

/** An id that a caller chose came from a body, so it stays out of the log (C2); ids of the vault's own form may be named. */
export const rowLogName = (row: RowName): string => {
  const name = nameOf(row, id => (hasOwnForm(id) ? id : '(an id that is not ours)'))
  return row.tenantId === undefined ? name : `${name} of tenant ${row.tenantId}`
}

const nameOf = ({ kind, id }: RowName, show: (id: string) => string): string =>
  id === undefined ? kind : `${kind} ${show(id)}`
