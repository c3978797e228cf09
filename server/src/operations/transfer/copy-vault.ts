import type { KeyProvider } from '../../keys/key-provider.ts'
import { unwrapVaultKeys } from '../../keys/unwrap-keys.ts'
import { keyRow } from '../../store/columns.ts'
import { type CopyPosition, type CopySource, type CopyTarget, namedColumns } from '../../store/copying.ts'
import { type Table, tableNamed, tables } from '../../store/tables.ts'
import type { CopyFault } from './copy-fault.ts'
import { verifyCopy } from './verify-copy.ts'

export type CopyProgress = {
  readonly phase: 'copy' | 'verify'
  /** Rows done so far, including those of earlier runs. */
  readonly done: number
  readonly of: number
}

export type CopyResult = {
  /** Number of rows by table. */
  readonly rows: Readonly<Record<string, number>>
  /** Rows copied by this run; the others were there already. */
  readonly copied: number
  /** An earlier run had finished the copy, so this one did nothing. */
  readonly wasDone: boolean
  /** Rows that do not open or differ from the source. If there are any, the target cannot be served. */
  readonly faults: readonly CopyFault[]
}

/** A batch is one transaction at the target and one page of memory here; 5,000 rows are about 1 MB. */
const rowsPerBatchDefault = 5_000

type Ends = { readonly source: CopySource; readonly target: CopyTarget }

/**
 * Copies every row of the vault unchanged, and resumes where an interrupted copy stopped. The target can be served only after all
 * of it was read back: every row equals that of the source, and every seal opens.
 */
export const copyVault = async ({
  source,
  target,
  keyProvider,
  report,
  rowsPerBatch = rowsPerBatchDefault,
}: Ends & {
  readonly keyProvider: KeyProvider
  readonly report: (progress: CopyProgress) => void
  readonly rowsPerBatch?: number
}): Promise<CopyResult> => {
  await requireMasterKey(source, keyProvider)
  const counts = new Map(tables.map(table => [table.name, source.count(table)]))
  const rows = Object.fromEntries(counts)
  const { position } = target
  if (position === 'done') return { rows, copied: 0, wasDone: true, faults: [] }

  const all = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const progress = (phase: CopyProgress['phase']) => {
    let done = phase === 'copy' ? rowsBefore(position, counts) : 0
    return (more: number): void => {
      done += more
      report({ phase, done, of: all })
    }
  }
  let copied = 0
  const ends = { source, target }
  const reportCopied = progress('copy')
  for (const table of tables.slice(tableIndex(position))) {
    const skip = position?.table === table.name ? position.rows : 0
    copied += await copyTable(ends, table, { skip, rowsPerBatch, report: reportCopied })
  }
  const faults = await verifyCopy({
    ...ends,
    keyProvider,
    rowsPerPage: rowsPerBatch,
    report: progress('verify'),
  })
  if (faults.length === 0) await target.finish(source.lastTenant())
  return { rows, copied, wasDone: false, faults }
}

/** Finds a wrong key provider before an hour of copying, not after. */
const requireMasterKey = async (source: CopySource, keyProvider: KeyProvider): Promise<void> => {
  const table = tableNamed('vault_keys')
  const rows = [...source.pages(table, 0, rowsPerBatchDefault)].flat()
  await unwrapVaultKeys(
    keyProvider,
    rows.map(row => keyRow(namedColumns(table, row))),
  )
}

const tableIndex = (position: CopyPosition | undefined): number =>
  position === undefined ? 0 : tables.findIndex(({ name }) => name === position.table)

const rowsBefore = (position: CopyPosition | undefined, counts: ReadonlyMap<string, number>): number =>
  tables
    .slice(0, tableIndex(position))
    .reduce((sum, { name }) => sum + (counts.get(name) ?? 0), position?.rows ?? 0)

/** Reads the next batch while the target writes the previous one; resolves with the number of rows copied. */
const copyTable = async (
  { source, target }: Ends,
  table: Table,
  options: { skip: number; rowsPerBatch: number; report: (rows: number) => void },
): Promise<number> => {
  const { skip, rowsPerBatch, report } = options
  let copied = 0
  let writing: Promise<number> | undefined
  for (const rows of source.pages(table, skip, rowsPerBatch)) {
    if (writing !== undefined) report(await writing)
    copied += rows.length
    const position = { table: table.name, rows: skip + copied }
    writing = target.append(table, rows, position).then(() => rows.length)
    // A failed write throws when it is awaited, unless the source fails first.
    writing.catch(() => {})
  }
  if (writing !== undefined) report(await writing)
  return copied
}
