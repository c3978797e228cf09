import type pg from 'pg'
import { type Look, seenKeys } from '../sql/look.ts'
import { vaultKeys } from '../sql/statements.ts'
import { schemaState } from './migrate.ts'

/** What a database holds, without changing it. */
export const lookAtPostgres = async (client: pg.Client): Promise<Look> => {
  const schema = await schemaState(client)
  // A database may well have tables of others beside the vault's.
  if (schema.current === 0) return { schema, vaultKeys: [], isForeign: false }
  const { rows } = await client.query(vaultKeys)
  return { schema, vaultKeys: seenKeys(rows), isForeign: false }
}
