import type { KeyProvider } from '../../keys/key-provider.ts'
import type { Value } from '../../store/columns.ts'
import {
  type CopySource,
  type CopyTarget,
  type PlainRow,
  rowName,
  type TableReader,
} from '../../store/copying.ts'
import { type Table, tables } from '../../store/tables.ts'
import { loadCopiedKeys } from './copied-keys.ts'
import type { CopyFault } from './copy-fault.ts'
import { type SealCheck, sealChecks } from './seal-checks.ts'

type Parts = {
  readonly source: CopySource
  readonly target: CopyTarget
  readonly rowsPerPage: number
  /** Told how many rows were checked since the last call. */
  readonly report: (rows: number) => void
}

/** Verification stops at this many faults. */
const faultsMax = 1_000

/**
 * Reads the whole copy back next to the source, in the same order. Each row must equal the source's bit for bit, and everything
 * sealed must open with the copied keys.
 */
export const verifyCopy = async (
  parts: Parts & { readonly keyProvider: KeyProvider },
): Promise<CopyFault[]> => {
  const { target, keyProvider, rowsPerPage } = parts
  const { keys, faults } = await loadCopiedKeys(target, keyProvider, rowsPerPage)
  const checks = sealChecks(keys, target)
  for (const table of tables) {
    if (faults.length >= faultsMax) break
    faults.push(...(await verifyTable(parts, table, checks[table.name])))
  }
  return faults
}

/** Stops at the first page with a difference: after a missing row, all later ones would differ. */
const verifyTable = async (
  { source, target, rowsPerPage, report }: Parts,
  table: Table,
  findUnopened: SealCheck = async () => [],
): Promise<CopyFault[]> => {
  const reader = target.read(table)
  const faults: CopyFault[] = []
  try {
    for await (const { originals, copies } of pairedPages(source.pages(table, 0, rowsPerPage), reader)) {
      const unopened = await findUnopened(copies)
      faults.push(
        ...unopened.map((row): CopyFault => ({ row: rowName(table, row), problem: 'does not open' })),
      )
      const different = firstDifference(originals, copies)
      if (different !== undefined) return [...faults, differs(table, different)]
      if (faults.length >= faultsMax) return faults
      report(copies.length)
    }
    const [extra] = await reader.next(1)
    return extra === undefined ? faults : [...faults, differs(table, extra)]
  } finally {
    await reader.close()
  }
}

type PagePair = { readonly originals: readonly PlainRow[]; readonly copies: readonly PlainRow[] }

/** The target reads the next page while the current one is checked. */
async function* pairedPages(pages: Iterable<PlainRow[]>, reader: TableReader): AsyncGenerator<PagePair> {
  let ahead: Promise<PagePair> | undefined
  for (const originals of pages) {
    const next = reader.next(originals.length).then(copies => ({ originals, copies }))
    // A failure is thrown when the page is needed. Until then it must not count as unhandled.
    next.catch(() => {})
    if (ahead !== undefined) yield await ahead
    ahead = next
  }
  if (ahead !== undefined) yield await ahead
}

const differs = (table: Table, row: PlainRow): CopyFault => ({
  row: rowName(table, row),
  problem: 'is not what the source holds',
})

const firstDifference = (
  originals: readonly PlainRow[],
  copies: readonly PlainRow[],
): PlainRow | undefined => {
  for (let at = 0; at < Math.max(originals.length, copies.length); at++) {
    const original = originals[at]
    const copy = copies[at]
    if (original === undefined || copy === undefined) return original ?? copy
    if (!original.every((value, column) => isSame(value, copy[column]))) return original
  }
  return undefined
}

const isSame = (a: Value | undefined, b: Value | undefined): boolean =>
  a instanceof Uint8Array && b instanceof Uint8Array ? Buffer.compare(a, b) === 0 : plain(a) === plain(b)

/** Engines return an integer as a number or as a bigint. */
const plain = (value: Value | undefined) => (typeof value === 'bigint' ? Number(value) : value)
