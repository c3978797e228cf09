import type pg from 'pg'
import { tokenRow } from '../columns.ts'
import { type CopyPosition, CopyRefusedError, type CopyTarget, type PlainRow } from '../copying.ts'
import { StoreUnavailableError } from '../port.ts'
import { schemaMismatch } from '../sql/migration.ts'
import { tokenColumns } from '../sql/statements.ts'
import { type Table, tables } from '../tables.ts'
import { advisoryLocks } from './advisory-locks.ts'
import { type Arrival, createArrival, readArrival } from './arrival-state.ts'
import { arrayType, binaryArray } from './binary-array.ts'
import type { ConnectionSettings } from './client-config.ts'
import { Connection, type Statement } from './connection.ts'
import { ownKeyColumns } from './delete-some.ts'
import { unavailable } from './failures.ts'
import { vaultTables } from './inspect.ts'
import { migrate, schemaState } from './migrate.ts'

const emptyIt = 'give an empty database'

/**
 * A database for the vault with this identity: an empty one, or one in which an interrupted copy of the very same vault
 * stopped. The lock belongs to the connection, so two copies never write into one database.
 */
export const openCopyTarget = async (settings: ConnectionSettings, identity: string): Promise<CopyTarget> => {
  let position: CopyTarget['position']
  // On Citus, no plan that inserts a list serves for every list.
  const connection = new Connection({ ...settings, plansPerValue: true }, async client => {
    const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS is_mine', [advisoryLocks.copy])
    if (rows[0]?.is_mine !== true)
      throw new CopyRefusedError('another copy into this database is under way: wait for it')
    position = await takePlace(client, identity)
  })
  const query = async (statement: Statement) => {
    try {
      return await connection.query<PlainRow>(statement)
    } catch (error) {
      throw refusalIn(error) ?? unavailable('the target fails', error)
    }
  }
  /** All or nothing, in one round trip. */
  const transaction = async (statements: readonly Statement[]): Promise<void> => {
    const answers = await connection.send([{ text: 'BEGIN' }, ...statements, { text: 'COMMIT' }])
    const failed = answers.find(answer => answer.status === 'rejected')
    if (failed !== undefined) throw unavailable('the target cannot be written', failed.reason)
  }
  await query({ text: 'SELECT 1' })

  return {
    get position() {
      return position
    },
    append: (table, rows, reached) =>
      transaction([
        { text: insertOf(table), name: `append ${table.name}`, values: columnsOf(table, rows) },
        {
          text: 'UPDATE arrival SET table_name = $1, rows = $2',
          name: 'reached',
          values: [reached.table, reached.rows],
        },
      ]),
    read: table => {
      const opened = query({ text: 'BEGIN' }).then(() =>
        query({
          text: `DECLARE reader NO SCROLL CURSOR FOR
            SELECT ${Object.keys(table.columns).join(', ')} FROM ${table.name} ORDER BY ${table.key}`,
        }),
      )
      return {
        next: async rows => {
          await opened
          return (await query({ text: `FETCH ${rows} FROM reader`, rowMode: 'array' })).rows
        },
        close: async () => {
          await opened.catch(() => {})
          await query({ text: 'COMMIT' })
        },
      }
    },
    getTokens: async (tenant, ids) => {
      const { rows } = await query({
        text: `SELECT ${tokenColumns} FROM tokens k WHERE k.tenant = $1 AND k.token_id = ANY ($2)`,
        values: [tenant, ids],
        rowMode: 'array',
      })
      return rows.map(tokenRow)
    },
    finish: lastTenant =>
      transaction([
        {
          text: "SELECT setval(pg_get_serial_sequence('tenants', 'tenant'), greatest($1::bigint, 1), $1::bigint > 0)",
          values: [lastTenant],
        },
        { text: 'UPDATE arrival SET is_done = true' },
      ]),
    close: () => connection.close(),
  }
}

/** Why this connection was refused, however deeply the connection attempts have wrapped the error. */
const refusalIn = (error: unknown): CopyRefusedError | undefined => {
  if (error instanceof CopyRefusedError) return error
  return error instanceof StoreUnavailableError ? refusalIn(error.cause) : undefined
}

/** Where the copy continues. Refuses a database that holds anything else. */
const takePlace = async (client: pg.Client, identity: string): Promise<CopyTarget['position']> => {
  const schema = await schemaState(client)
  const { current, newest, pending } = schema
  const mismatch = schemaMismatch('the database', schema)
  if (current > newest) throw new CopyRefusedError(`${mismatch}: install the newer release, or ${emptyIt}`)
  const arrival = await readArrival(client)
  // A copy that was interrupted while creating the schema completes it.
  if (current > 0 && pending && arrival?.isDone !== false)
    throw new CopyRefusedError(`${mismatch}: run strongroom migrate, or ${emptyIt}`)
  const position = arrival && positionOf(arrival, identity)
  await migrate(client, async () => {
    if (arrival === undefined) await claim(client, identity)
  })
  return position
}

/** Marks the database as the copy's. From then on nothing serves it, however little it holds. */
const claim = async (client: pg.Client, identity: string): Promise<void> => {
  const { current } = await schemaState(client)
  if (current === 0 ? (await vaultTables(client)).length > 0 : await holdsRows(client))
    throw new CopyRefusedError(`the database holds another vault: ${emptyIt}`)
  await client.query(`${createArrival}; INSERT INTO arrival VALUES ('${identity}', '', 0, false)`)
}

const holdsRows = async (client: pg.Client): Promise<boolean> => {
  for (const { name } of tables) {
    const { rowCount } = await client.query(`SELECT 1 FROM ${name} LIMIT 1`)
    if (rowCount !== 0) return true
  }
  return false
}

const positionOf = (
  { source, position, isDone }: Arrival,
  identity: string,
): CopyPosition | 'done' | undefined => {
  if (source !== identity)
    throw new CopyRefusedError(
      isDone
        ? `the database holds a vault that was copied from another source, or from this one before it was written to: ${emptyIt}`
        : `the copy in the database is of another source, or of this one before it was written to: ${emptyIt}`,
    )
  if (isDone) return 'done'
  return position.table === '' ? undefined : position
}

/** A counter is copied as one row, in shard 0: readers add up all rows of a counter. */
const insertOf = ({ name, columns }: Table): string => {
  const own = ownKeyColumns[name] ?? []
  const lists = Object.values(columns).map((kind, place) => `$${place + 1}::${arrayType(kind)}`)
  return `INSERT INTO ${name} (${[...Object.keys(columns), ...own].join(', ')})
    OVERRIDING SYSTEM VALUE
    SELECT ${['r.*', ...own.map(() => '0')].join(', ')} FROM unnest(${lists.join(', ')}) r`
}

const columnsOf = ({ columns }: Table, rows: readonly PlainRow[]): Buffer[] =>
  Object.values(columns).map((kind, place) =>
    binaryArray(
      kind,
      rows.map(row => row[place] ?? null),
    ),
  )
