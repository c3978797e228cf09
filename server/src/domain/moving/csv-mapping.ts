import { invalid } from '../errors.ts'
import { getOwn, isJsonObject, type Json, type JsonObject, setOwn } from '../json/json.ts'
import { type SeparatorName, separatorNames } from './form-name.ts'
import type { RawRow } from './raw-row.ts'

/** Where a field of the body comes from: a column, or always the same value. */
type Source = { readonly column: string } | { readonly value: Json }

export type CsvMapping = {
  readonly separator: string
  /** By field, as a path: `type`, `data.number`, `metadata.customer`. */
  readonly fields: readonly (readonly [path: readonly string[], source: Source])[]
}

/** A file of another header than the mapping says, or a mapping that cannot be one. It names no cell. */
export class CsvMappingError extends Error {}

const separators: Readonly<Record<SeparatorName, string>> = {
  comma: ',',
  semicolon: ';',
  pipe: '|',
  tab: '\t',
}
const fieldNames: ReadonlySet<string> = new Set([
  'id',
  'type',
  'data',
  'mask',
  'containers',
  'metadata',
  'search_indexes',
  'fingerprint_expression',
  'deduplicate_token',
  'expires_at',
])
/** Fields that are lists: a cell is the only element. */
const listFields: ReadonlySet<string> = new Set(['containers', 'search_indexes'])

/** A mapping is a JSON object: `{"type": {"value": "…"}, "data": "column", "metadata.customer": "another"}`. */
export const readMapping = (json: Json, separator = 'comma'): CsvMapping => {
  const own = getOwn<string>(separators, separator)
  if (own === undefined)
    throw new CsvMappingError(`the separator must be one of ${separatorNames.join(', ')}`)
  if (!isJsonObject(json)) throw new CsvMappingError('the mapping must be a JSON object from field to column')
  const fields = Object.entries(json).map(
    ([name, value]) => [name.split('.'), sourceOf(name, value)] as const,
  )
  for (const needed of ['type', 'data'])
    if (!fields.some(([[first]]) => first === needed))
      throw new CsvMappingError(`the mapping lacks ${needed}: every token has one`)
  return { separator: own, fields }
}

const sourceOf = (name: string, value: Json): Source => {
  const [first = '', ...inner] = name.split('.')
  if (!fieldNames.has(first) || inner.includes('') || (inner.length > 0 && !takesParts(first)))
    throw new CsvMappingError(`the mapping names ${name}, which is no field of a token`)
  if (typeof value === 'string') return { column: value }
  const constant = isJsonObject(value) && Object.keys(value).length === 1 ? getOwn(value, 'value') : undefined
  if (constant === undefined)
    throw new CsvMappingError(`the mapping of ${name} must be a column's name, or {"value": …}`)
  return { value: constant }
}

const takesParts = (field: string): boolean => ['data', 'mask', 'metadata'].includes(field)

/** The first row names the columns. An empty cell leaves its field out. */
export class CsvBodies {
  readonly #fields: CsvMapping['fields']
  #header: readonly string[] = []

  constructor({ fields }: CsvMapping) {
    this.#fields = fields
  }

  /** Throws if the mapping names a column that is not there. */
  readonly header = (row: RawRow): void => {
    if (!('cells' in row)) throw new CsvMappingError('the first line must be a header that names the columns')
    this.#header = row.cells
    requireColumns(this.#fields, row.cells)
  }

  readonly body = (row: RawRow): Json => {
    if ('fault' in row) throw invalid({ path: '$', message: row.fault })
    const cells = 'cells' in row ? row.cells : []
    const { length } = this.#header
    if (cells.length !== length)
      throw invalid({ path: '$', message: `has ${cells.length} cells where the header has ${length}` })
    const body: JsonObject = {}
    for (const [path, source] of this.#fields) {
      const value =
        'value' in source ? source.value : cellValue(path, cells[this.#header.indexOf(source.column)])
      if (value !== undefined) put(body, path, value)
    }
    return body
  }
}

const requireColumns = (fields: CsvMapping['fields'], header: readonly string[]): void => {
  for (const [, source] of fields) {
    if (!('column' in source)) continue
    const count = header.filter(name => name === source.column).length
    if (count !== 1)
      throw new CsvMappingError(
        count === 0
          ? `the header has no column "${source.column}", which the mapping names`
          : `the header has several columns "${source.column}"`,
      )
  }
}

const cellValue = ([first = '']: readonly string[], cell: string | undefined): Json | undefined => {
  if (cell === undefined || cell === '') return undefined
  if (listFields.has(first)) return [cell]
  if (first === 'deduplicate_token' && (cell === 'true' || cell === 'false')) return cell === 'true'
  return cell
}

/** `data.number` puts an object where there is none yet. A field that is already a value keeps it. */
const put = (body: JsonObject, path: readonly string[], value: Json): void => {
  let at = body
  for (const name of path.slice(0, -1)) {
    const inner = getOwn(at, name)
    const next = isJsonObject(inner) ? inner : {}
    if (next !== inner) setOwn(at, name, next)
    at = next
  }
  setOwn(at, path.at(-1) ?? '', value)
}
