import { invalid } from '../errors.ts'
import type { Json } from '../json/json.ts'
import { parseJson } from '../json/parse-json.ts'
import { basisTheoryBody } from './basis-theory.ts'
import { CsvBodies, type CsvMapping } from './csv-mapping.ts'
import { CsvRows } from './csv-rows.ts'
import type { FormName } from './form-name.ts'
import { JsonRows } from './json-rows.ts'
import { LineRows } from './line-rows.ts'
import type { RawRow, RowSplitter } from './raw-row.ts'
import { vaultKvBody } from './vault-kv.ts'

/** How the rows of a file are found, and how each becomes the body of a `POST /tokens`. */
export type RowForm = {
  readonly rows: RowSplitter
  /** Takes the first row, where that is a header and none of the data. */
  readonly header?: (row: RawRow) => void
  /** Throws a VaultError with the places of the row's faults. */
  readonly body: (row: RawRow) => Json
}

/** What reads a file in this form, from its beginning. */
export const rowForm = (name: FormName, { mapping }: { mapping?: CsvMapping | undefined } = {}): RowForm => {
  switch (name) {
    case 'ndjson':
      return { rows: new LineRows(), body: parsed }
    case 'csv': {
      if (mapping === undefined) throw new Error('CSV needs a mapping')
      const { header, body } = new CsvBodies(mapping)
      return { rows: new CsvRows(mapping.separator), header, body }
    }
    case 'basis-theory':
      return { rows: new JsonRows({ pages: true }), body: row => basisTheoryBody(parsed(row)) }
    case 'vault-kv':
      return { rows: new JsonRows({ pages: false }), body: row => vaultKvBody(parsed(row)) }
  }
}

const parsed = (row: RawRow): Json => {
  if ('fault' in row) throw invalid({ path: '$', message: row.fault })
  return parseJson('bytes' in row ? row.bytes : new Uint8Array())
}
