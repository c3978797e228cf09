import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { postgres } from '../rig/engines.ts'
import { databaseOf } from '../rig/postgres-databases.ts'
import { TestVault } from '../rig/test-vault.ts'
import { buildScene, columnsByTable, operations, type Scene, sendOperation } from './operations.ts'

/** What a counter adds up to, for its rows may be removed at any moment once that is nothing. */
const rowsOf = (table: string, columns: string, tenant: number): string =>
  table === 'counters'
    ? `SELECT name, sum(value), max(at) FROM counters WHERE tenant = ${tenant}
       GROUP BY name HAVING sum(value) <> 0 OR max(at) IS NOT NULL`
    : `SELECT ${columns} FROM ${table} WHERE tenant = ${tenant}`

const orDelete = (table: string): string => (table === 'counters' ? '' : ' OR DELETE')

/** The server's own error codes when a change fails; the last one ends the connection in the middle of it. */
const failures = { full: '53100', 'input or output': '58030', cancelled: '57014', 'lost connection': '57P01' }

const changesMax = 200
const never = -1

/**
 * Counts changed rows, once when the change is made and once more at the commit, and fails at the nth. It counts with a
 * sequence, because a sequence is not rolled back with the transaction. A counter at zero is removed once the write is
 * answered (zero-counters.ts), so that such a removal fails is nobody's business.
 */
const faultyTables = `
  CREATE SEQUENCE changes MINVALUE 0;
  CREATE TABLE fault (nth bigint, code text);
  INSERT INTO fault VALUES (NULL, NULL);
  CREATE FUNCTION fail_at_nth() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE planned fault;
    BEGIN
      SELECT * INTO planned FROM fault;
      IF nextval('changes') = planned.nth THEN
        IF planned.code = '57P01' THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
        RAISE EXCEPTION 'simulated' USING ERRCODE = planned.code;
      END IF;
      RETURN coalesce(NEW, OLD);
    END $$;
  ${Object.keys(columnsByTable)
    .map(
      table => `
  CREATE TRIGGER now BEFORE INSERT OR UPDATE${orDelete(table)} ON ${table} FOR EACH ROW EXECUTE FUNCTION fail_at_nth();
  CREATE CONSTRAINT TRIGGER later AFTER INSERT OR UPDATE${orDelete(table)} ON ${table} DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION fail_at_nth();`,
    )
    .join('')}`

describe('a database whose nth change fails (postgres)', () => {
  let vault: TestVault
  let admin: pg.Client
  before(async () => {
    vault = await TestVault.start({ engine: postgres })
    admin = new pg.Client(await databaseOf(vault.folder.path))
    await admin.connect()
    await admin.query(faultyTables)
  })
  after(async () => {
    await admin.end()
    await vault.stop()
  })

  const failAt = async (nth: number, code: string): Promise<void> => {
    await admin.query(`UPDATE fault SET nth = ${nth}, code = '${code}'; SELECT setval('changes', 0)`)
  }
  const changesMet = async (): Promise<number> =>
    Number((await admin.query('SELECT last_value FROM changes')).rows[0].last_value)

  /** Everything that storage holds of the tenant, in one round trip: each table with a hash of its rows. */
  const digest = async ({ tenantNumber }: Scene): Promise<unknown> => {
    const tables = Object.entries(columnsByTable).map(
      ([table, columns]) =>
        `SELECT '${table}' AS table, md5(string_agg(row::text, ' ' ORDER BY row::text))
         FROM (${rowsOf(table, columns, tenantNumber)}) row`,
    )
    return (await admin.query(tables.join(' UNION ALL '))).rows
  }

  const writes = operations.filter(({ isWrite }) => isWrite)
  for (const [position, operation] of writes.entries())
    test(`${operation.name}: a failed change leaves nothing behind, and the next try succeeds (C2.23, C23.5)`, async () => {
      await failAt(never, '')
      const scene = await buildScene(vault)
      const before = await digest(scene)
      for (let nth = 1; ; nth++) {
        assert.ok(nth < changesMax)
        // The failures take turns, because a lost connection takes a while; each operation begins with a different one.
        const [name, code = ''] = Object.entries(failures)[(nth + position) % 4] ?? []
        await failAt(nth, code)
        const reply = await sendOperation(scene, operation)
        if (reply.status < 300) {
          assert.ok(nth > 1 && (await changesMet()) < nth, `change ${nth} failed and nobody noticed`)
          return
        }
        assert.equal(reply.status, 503, `${name} at ${nth}: ${reply.text}`)
        assert.deepEqual(await digest(scene), before, `${name} at ${nth}`)
      }
    })
})
