import type pg from 'pg'
import { IncompleteVaultError, type Inspection, seenKeys } from '../sql/inspection.ts'
import { vaultKeys } from '../sql/statements.ts'
import { tables } from '../tables.ts'
import { requireNoHalfCopy } from './arrival-state.ts'
import { schemaState } from './migrate.ts'
import { requireUnicode } from './require-unicode.ts'

/** Reads what a database holds without changing it. Undefined if there is no vault. Throws if the database cannot hold one. */
export const inspectPostgres = async (client: pg.Client): Promise<Inspection | undefined> => {
  await requireNoHalfCopy(client)
  const schema = await schemaState(client)
  if (schema.current === 0) {
    const made = await vaultTables(client)
    if (made.length > 0)
      throw new IncompleteVaultError(
        `the database has tables of a vault (${made.join(', ')}), but the table migrations, which says what was made, is lost or empty: restore a backup, or give a new vault a database of its own`,
        'restore',
      )
    await requireUnicode(client)
    // A database may well have other tables next to the vault's.
    return undefined
  }
  if (!(await hasVaultKeys(client)))
    throw new IncompleteVaultError('the database has lost the table vault_keys: restore a backup', 'restore')
  const { rows } = await client.query(vaultKeys)
  return { schema, vaultKeys: seenKeys(rows) }
}

/** The vault's tables that exist where a migration would create them. */
export const vaultTables = async (client: pg.Client): Promise<string[]> => {
  const { rows } = await client.query(
    `SELECT tablename AS name FROM pg_tables
     WHERE schemaname = current_schema() AND tablename = ANY ($1) ORDER BY 1`,
    [tables.map(({ name }) => name)],
  )
  return rows.map(({ name }) => String(name))
}

const hasVaultKeys = async (client: pg.Client): Promise<boolean> => {
  const { rows } = await client.query("SELECT to_regclass('vault_keys') IS NOT NULL AS is_there")
  return rows[0]?.is_there === true
}
