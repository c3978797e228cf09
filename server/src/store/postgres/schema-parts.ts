import type pg from 'pg'
import type { SchemaDifference } from '../sql/migration.ts'
import { tables } from '../tables.ts'
import { migrations } from './migrate.ts'

const vaultNamespace = "(SELECT relnamespace FROM pg_class WHERE oid = to_regclass('migrations'))"

/** Of foreign parts, only those that act on the vault's tables. The rest of the database is its owner's business. */
export const comparePostgresSchema = async (client: pg.Client): Promise<SchemaDifference> => {
  const foreign = await foreignParts(client)
  const { rows } = await client.query(
    `SELECT has_database_privilege(current_database(), 'TEMPORARY') AS "mayCompare",
       format('GRANT TEMPORARY ON DATABASE %I TO %I', current_database(), current_user) AS permit`,
  )
  const { mayCompare, permit } = rows[0] ?? {}
  if (mayCompare === true) {
    const { missing, changed } = await compareWithMigrations(client)
    return { missing, foreign: [...foreign, ...changed] }
  }
  const problem =
    'this role may not make temporary tables, with which the schema is compared: nothing is known of what it lacks'
  return { unknown: { problem, byHand: `as the owner of the database: ${permit}` }, missing: [], foreign }
}

/**
 * Tables, columns, keys, constraints, indexes and functions that the migrations create and the database lacks, and functions of these
 * names that do something else. To learn what the migrations create, runs them once more in the temporary schema and rolls back.
 */
const compareWithMigrations = async (
  client: pg.Client,
): Promise<{ missing: string[]; changed: string[] }> => {
  const there = new Set(await partsOf(client, vaultNamespace))
  const functionsThere = await functionsOf(client, vaultNamespace)
  await client.query('BEGIN')
  try {
    // This must not reach the other nodes of a cluster.
    await client.query('SET LOCAL citus.enable_ddl_propagation = off')
    await client.query('SET LOCAL search_path = pg_temp')
    for (const { sql } of migrations) await client.query(sql)
    const expected = await partsOf(client, 'pg_my_temp_schema()')
    const own = await functionsOf(client, 'pg_my_temp_schema()')
    const isOwn = ({ name, definition }: StoredFunction): boolean =>
      own.some(other => other.name === name && other.definition === definition)
    return {
      missing: expected.filter(part => !there.has(part)),
      changed: functionsThere
        .filter(each => own.some(({ name }) => name === each.name) && !isOwn(each))
        .map(({ signature }) => `another function ${signature}`),
    }
  } finally {
    await client.query('ROLLBACK')
  }
}

/**
 * Triggers, rules and foreign keys on the vault's tables, to or from another, and row-level security. The migrations make none,
 * and each can undo or forbid what the vault writes.
 */
const foreignParts = async (client: pg.Client): Promise<string[]> => {
  const { rows } = await client.query(
    `SELECT what || ' on ' || c.relname AS part
     FROM (SELECT 'trigger ' || tgname AS what, tgrelid AS owner FROM pg_trigger WHERE NOT tgisinternal
           UNION ALL SELECT 'rule ' || rulename, ev_class FROM pg_rewrite WHERE rulename <> '_RETURN'
           UNION ALL SELECT 'foreign key ' || conname, unnest(ARRAY[conrelid, confrelid]) FROM pg_constraint WHERE contype = 'f'
           UNION ALL SELECT 'row-level security', oid FROM pg_class WHERE relrowsecurity) code
     JOIN pg_class c ON c.oid = code.owner
     WHERE c.relnamespace = ${vaultNamespace} AND c.relname = ANY ($1) ORDER BY part`,
    [tables.map(({ name }) => name)],
  )
  return rows.map(({ part }) => String(part))
}

type StoredFunction = { readonly name: string; readonly signature: string; readonly definition: string }

/** The definition decides what a call does, and with whose rights. A function with another signature may be called instead. */
const functionsOf = async (client: pg.Client, namespace: string): Promise<StoredFunction[]> => {
  const { rows } = await client.query(
    `SELECT proname, s.signature, jsonb_build_array(s.signature, pg_get_function_result(p.oid), prokind, lanname, prosrc, probin,
       prosecdef, proisstrict, proretset, provolatile, proconfig)::text AS definition
     FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang,
       LATERAL (SELECT proname || '(' || pg_get_function_arguments(p.oid) || ')' AS signature) s
     WHERE pronamespace = ${namespace} ORDER BY s.signature`,
  )
  return rows.map(({ proname, signature, definition }) => ({
    name: String(proname),
    signature: String(signature),
    definition: String(definition),
  }))
}

const partsOf = async (client: pg.Client, namespace: string): Promise<string[]> => {
  const { rows } =
    await client.query(`SELECT part FROM (${parts.join(' UNION ALL ')}) p (place, part, namespace)
    WHERE namespace = ${namespace} ORDER BY place, part`)
  return rows.map(({ part }) => String(part))
}

/** Table names come without their schema, which is all that differs. */
const parts = [
  `SELECT 1, 'table ' || relname, relnamespace FROM pg_class WHERE relkind IN ('r', 'p')`,
  `SELECT 2, 'column ' || c.relname || '.' || a.attname || CASE a.attidentity WHEN '' THEN '' ELSE ', which counts by itself' END,
     c.relnamespace
   FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
   WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped`,
  `SELECT 3, pg_get_constraintdef(n.oid) || ' of ' || c.relname, c.relnamespace
   FROM pg_constraint n JOIN pg_class c ON c.oid = n.conrelid WHERE n.contype IN ('p', 'u', 'c')`,
  `SELECT 4, CASE WHEN x.indisunique THEN 'unique ' ELSE '' END || 'index ' || i.relname || ' on ' || c.relname || ' '
     || substring(pg_get_indexdef(x.indexrelid) FROM 'USING.*'), c.relnamespace
   FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class c ON c.oid = x.indrelid WHERE x.indisvalid`,
  `SELECT 5, 'function ' || proname, pronamespace FROM pg_proc`,
]
