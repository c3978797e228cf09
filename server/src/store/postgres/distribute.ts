import type pg from 'pg'
import { accessTables, contentTables, evidenceTables, logTables, type Table } from '../tables.ts'
import { applicationName, plannerSettings } from './client-config.ts'

const namesOf = (tables: readonly Table[]): string[] => tables.map(({ name }) => name)

/**
 * How the tables are placed on the nodes of a Citus cluster. Content and log are kept with their tenant. Access tables are on
 * every node, including the coordinator: they are read there and their changes are announced there, so no reader that
 * has heard of a change sees the old state (C27). `migrations` stays on the coordinator.
 */
const placements: readonly { readonly spread: string; readonly tables: readonly string[] }[] = [
  {
    spread: 'create_reference_table($1)',
    tables: [...namesOf([...accessTables, ...evidenceTables]), 'grants_epoch'],
  },
  { spread: "create_distributed_table($1, 'tenant', colocate_with => 'none')", tables: ['tokens'] },
  {
    spread: "create_distributed_table($1, 'tenant', colocate_with => 'tokens')",
    tables: namesOf([...contentTables, ...logTables]).filter(name => name !== 'tokens'),
  },
  { spread: "create_distributed_table($1, 'name', colocate_with => 'none')", tables: ['leases'] },
]

/** Called on the coordinator and run where the tenant's rows are; the tenant is their first argument. */
const delegatedFunctions = ['apply_or_abort', 'apply_or_undo', 'remove_zero_counters']

/** What the delegated functions call there. */
const calledFunctions = ['apply_changes', 'move_counters', 'append_log']

/** Those that each shard has as its own (shard.ts). */
export const functionsOfShards: readonly string[] = [...calledFunctions, 'apply_or_abort', 'apply_or_undo']

/** Whether rows are spread over the shards of Citus. */
export const isDistributed = async (client: pg.Client): Promise<boolean> => {
  if (!(await hasCitus(client))) return false
  const { rows } = await client.query(
    "SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('tokens')) AS is_it",
  )
  return rows[0]?.is_it === true
}

/** Spreads the rows of an up-to-date schema, including existing ones. Running it again changes nothing. */
export const distribute = async (client: pg.Client): Promise<void> => {
  await requireCluster(client)
  if (!(await isDistributed(client))) await requireNobodyElse(client)
  await settlePlanner(client)
  await distributeRest(client)
}

/** Distributes what migrations have added since. All or nothing. */
export const distributeRest = async (client: pg.Client): Promise<void> => {
  await client.query('BEGIN')
  try {
    await client.query("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
    for (const { spread, tables } of placements)
      for (const table of await notSpreadYet(client, tables)) {
        await client.query(`SELECT ${spread}`, [table])
        // Otherwise rows that were copied to shards stay in the coordinator's own files, wrapped keys among them.
        await client.query('SELECT truncate_local_data_after_distributing_table($1)', [table])
      }
    for (const name of calledFunctions)
      await client.query('SELECT create_distributed_function($1::regproc)', [name])
    for (const name of delegatedFunctions)
      await client.query(
        "SELECT create_distributed_function($1::regproc, 'for_tenant', colocate_with => 'tokens')",
        [name],
      )
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  }
}

const notSpreadYet = async (client: pg.Client, names: readonly string[]): Promise<string[]> => {
  const { rows } = await client.query(
    `SELECT name FROM unnest($1::text[]) name
     WHERE to_regclass(name) NOT IN (SELECT logicalrelid FROM pg_dist_partition)`,
    [names],
  )
  return rows.map(({ name }) => name)
}

const hasCitus = async (client: pg.Client): Promise<boolean> =>
  (await client.query("SELECT FROM pg_extension WHERE extname = 'citus'")).rows.length > 0

const requireCluster = async (client: pg.Client): Promise<void> => {
  if (!(await hasCitus(client)))
    throw new Error(
      'the database has no extension citus: install it on every node, and run CREATE EXTENSION citus there',
    )
  const { rows } = await client.query(
    `SELECT (SELECT groupid FROM pg_dist_local_group) AS here,
       count(*) FILTER (WHERE groupid = 0) AS coordinators, count(*) FILTER (WHERE groupid <> 0) AS workers
     FROM pg_dist_node`,
  )
  const { here, coordinators, workers } = rows[0] ?? {}
  if (Number(here) !== 0) throw new Error('the database URL must name the coordinator, not a worker')
  if (Number(coordinators) === 0)
    throw new Error(
      "the coordinator has no name: run SELECT citus_set_coordinator_host('its host', its port)",
    )
  if (Number(workers) === 0)
    throw new Error("there are no workers: run SELECT citus_add_node('its host', its port) for each")
}

/** A process that was started before would go on writing as if all rows were in one place. */
const requireNobodyElse = async (client: pg.Client): Promise<void> => {
  const { rows } = await client.query(
    `SELECT FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid() LIMIT 1`,
    [applicationName],
  )
  if (rows.length > 0) throw new Error('the vault is in use: stop its servers first')
}

/** Planner settings of our connections do not reach the workers; settings of the database do. */
const settlePlanner = async (client: pg.Client): Promise<void> => {
  const { rows } = await client.query('SELECT quote_ident(current_database()) AS database')
  for (const [name, value] of Object.entries(plannerSettings))
    await client.query(`ALTER DATABASE ${rows[0]?.database} SET ${name} = ${value}`)
}
