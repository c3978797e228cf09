import type { StoredRow } from './engines.ts'
import type { TestVault } from './test-vault.ts'

export type { StoredRow } from './engines.ts'

/** The rows of a table as storage holds them, for tests that assert what is there and what is gone. */
export const storedRows = async (vault: TestVault, table: string): Promise<StoredRow[]> =>
  (await storedRowsOf(vault, [table]))[0] ?? []

/** The rows of each of these tables, with the records of all that was done so far. */
export const storedRowsOf = async (
  { engine, folder, service }: TestVault,
  tables: readonly string[],
  /** Only the rows of this one. */
  tenant?: number,
): Promise<StoredRow[][]> => {
  // Records of earlier requests would come while a test looks.
  await service.vault.acts.flush().catch(() => undefined)
  return engine.reachAll(
    folder.path,
    tables.map(table => [
      `SELECT * FROM ${engine.views[table] ?? table}${tenant === undefined ? '' : ` WHERE tenant = ${tenant}`}`,
    ]),
  )
}

export const countRows = async ({ engine, folder }: TestVault, table: string): Promise<number> => {
  const [row] = await engine.reach(folder.path, `SELECT count(*) AS count FROM ${table}`)
  return Number(row?.count)
}

/** Every table, with the rows of this tenant. */
export const rowsOfTenant = async (vault: TestVault, tenant: number): Promise<Map<string, StoredRow[]>> => {
  const tables = await vault.engine.reach(vault.folder.path, vault.engine.tables)
  const names = tables.map(({ name }) => String(name))
  const rows = await storedRowsOf(vault, names)
  return new Map(names.map((name, at) => [name, (rows[at] ?? []).filter(row => row.tenant === tenant)]))
}

/** Overwrites the sealed part of these tokens behind the vault's back, so that they no longer open. */
export const spoilTokens = async ({ engine, folder }: TestVault, ids: readonly string[]): Promise<void> => {
  const places = ids.map(() => '?').join()
  const spoil = `UPDATE tokens SET sealed = ? WHERE token_id IN (${places})`
  await engine.reach(folder.path, spoil, new Uint8Array(1), ...ids)
}
