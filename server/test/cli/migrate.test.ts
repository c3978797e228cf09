import assert from 'node:assert/strict'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, test } from 'node:test'
import pg from 'pg'
import { examine } from '../../src/cli/doctor/examine.ts'
import { thisMachine } from '../../src/cli/doctor/machine.ts'
import { Report } from '../../src/cli/doctor/report.ts'
import { readConfig } from '../../src/config/config.ts'
import { createMasterKeyFile } from '../../src/keys/file/create-master-key-file.ts'
import { migrations as postgresMigrations } from '../../src/store/postgres/migrate.ts'
import { newestSchema } from '../../src/store/sqlite/migrate.ts'
import { laterRelease } from '../rig/later-migration.ts'
import { inShortRun } from '../rig/long-run.ts'
import { emptyDatabase } from '../rig/postgres-databases.ts'
import { assertRefused, call, Site, withoutKey } from '../rig/program.ts'

const newest = newestSchema()

describe('migrate', () => {
  let site: Site
  beforeEach(() => {
    site = new Site()
  })
  afterEach(() => site.remove())

  const plant = (fill: (database: DatabaseSync) => void): void => {
    mkdirSync(site.data)
    const database = new DatabaseSync(join(site.data, 'vault.db'))
    fill(database)
    database.close()
  }

  test('makes the vault where there is none, and changes nothing the second time (C35)', async () => {
    for (let time = 1; time <= 2; time++) {
      const { code, stdout, stderr } = await site.run(['migrate', '--data', site.data])
      assert.deepEqual(
        { code, stdout, stderr },
        { code: 0, stdout: `schema ${newest} of ${newest}\n`, stderr: '' },
      )
    }
  })

  test('--status reports what is pending and changes nothing (C35)', async () => {
    await site.json('migrate')
    const later = newest + 1
    const run = async (...args: string[]) =>
      (await site.run(['migrate', ...args, ...site.vault], laterRelease)).stdout
    const pending = { current: newest, newest: later, pending: true }
    assert.deepEqual(JSON.parse(await run('--status', '--json')), pending)
    assert.match(
      await run('--status'),
      new RegExp(`^schema ${newest} of ${later}; run strongroom migrate( --\\S+ \\S+)+\n$`),
    )
    assert.deepEqual(JSON.parse(await run('--status', '--json')), pending)
    const upToDate = { current: later, newest: later, pending: false }
    assert.deepEqual(JSON.parse(await run('--json')), upToDate)
    assert.deepEqual(JSON.parse(await run('--status', '--json')), upToDate)
  })

  test('--status without a vault is refused and makes nothing (C35)', async () => {
    const status = () => site.run(['migrate', '--status', '--data', site.data])
    assertRefused(await status(), 2, /holds no vault/)
    assert.ok(!existsSync(site.data))
    plant(() => {})
    assertRefused(await status(), 2, /holds no vault: strongroom migrate --data \S+ makes one/)
    assertRefused(await site.run(['migrate']), 2, /storage is not configured/)
  })

  test('storage of a newer release is refused by migrate and by serve, and --status says so (C35)', async () => {
    plant(database => database.exec('PRAGMA user_version = 99'))
    for (const args of [['migrate'], ['serve', '--port', '0']])
      assertRefused(
        await site.run([...args, ...site.vault]),
        1,
        /storage has schema 99, this release knows \d+/,
      )
    const status = (...more: string[]) => site.run(['migrate', '--status', '--data', site.data, ...more])
    const told = await status()
    assert.equal(
      told.stdout,
      `schema 99, this release knows ${newest}; a newer release has migrated it: install that release\n`,
    )
    assert.equal(told.code, 1)
    const json = await status('--json')
    assert.deepEqual([json.code, JSON.parse(json.stdout)], [1, { current: 99, newest, pending: false }])
  })

  test('--distribute is refused where there is no cluster to spread rows over (C35)', async () => {
    assertRefused(
      await site.run(['migrate', '--distribute', '--data', site.data]),
      2,
      /--distribute needs a Citus cluster: set STRONGROOM_DATABASE_URL/,
    )
    assertRefused(
      await site.run(['migrate', '--distribute', '--status', '--data', site.data]),
      2,
      /--status changes nothing: leave out --distribute/,
    )
    assert.ok(!existsSync(site.data))
  })

  test('works beside a running server (C35)', async () => {
    const server = await site.serve()
    assert.deepEqual(await site.json('migrate'), { current: newest, newest, pending: false })
    assert.equal((await fetch(`${server.url}/ready`)).status, 200)
  })
})

describe('a vault on a database server', () => {
  let site: Site
  let empty: { readonly url: string; readonly drop: () => Promise<void> }
  beforeEach(async () => {
    site = new Site()
    empty = await emptyDatabase()
  })
  afterEach(async () => {
    await site.remove()
    await empty.drop()
  })

  test('is made by migrate, reported by --status, used by commands, and served (C35)', async () => {
    const newestHere = postgresMigrations.at(-1)?.number
    const database = { STRONGROOM_DATABASE_URL: empty.url }
    const keys = ['--key-provider', 'file', '--master-key-file', site.masterKeyFile]
    const run = (...args: string[]) => site.run(args, database)
    assertRefused(
      await run('migrate', '--status'),
      2,
      /postgres:\/\/\S+ holds no vault: strongroom migrate .*makes one/,
    )
    for (const args of [['migrate'], ['migrate', '--status']])
      assert.equal((await run(...args)).stdout, `schema ${newestHere} of ${newestHere}\n`)
    const made = JSON.parse((await run('tenant', 'create', '--name', 'X', '--json', ...keys)).stdout)
    const { stdout: found } = await run('doctor', ...keys)
    assert.match(withoutKey(found), /^in postgres:\/\/[^:@]+@\S+:\nno problems found\n$/)
    assertRefused(
      await run('migrate', '--distribute'),
      1,
      /the database has no extension citus: install it on every node/,
    )
    const server = await site.serve([], database)
    const reply = await call(server.url, 'POST', '/tokens', made.api_key, { type: 'token', data: 'x' })
    assert.equal(reply.status, 201)
    assert.ok(!existsSync(site.data), 'nothing is kept on this machine')
  })

  test('is made beside tables of other programs with the same names, if those are in another schema (C35)', {
    skip: inShortRun,
  }, async () => {
    const client = new pg.Client(empty.url)
    await client.connect()
    await client.query('CREATE SCHEMA other; CREATE TABLE other.tokens (id text)')
    await client.end()
    const { code, stderr } = await site.run(['migrate', ...site.keys], { STRONGROOM_DATABASE_URL: empty.url })
    assert.equal(code, 0, stderr)
  })

  test('doctor names each key and index that a restored database lacks (C35)', async () => {
    const run = (...args: string[]) =>
      site.run([...args, ...site.keys], { STRONGROOM_DATABASE_URL: empty.url })
    assert.equal((await run('migrate')).code, 0)
    const client = new pg.Client(empty.url)
    await client.connect()
    await client.query('ALTER TABLE tokens DROP CONSTRAINT tokens_pkey')
    await client.query('ALTER TABLE grants_epoch DROP CONSTRAINT grants_epoch_id_check')
    await client.query('DROP INDEX results_by_expiry')
    await client.end()
    const { code, stdout } = await run('doctor', '--deep', '--json')
    const [finding, ...others] = JSON.parse(stdout)
    assert.deepEqual([code, others], [1, []])
    assert.deepEqual(finding.problem.replace(/^[^:]*: /, '').split('; '), [
      'CHECK ((id = 1)) of grants_epoch',
      'PRIMARY KEY (tenant, token_id) of tokens',
      'index results_by_expiry on results USING btree (expires_at)',
      'unique index tokens_pkey on tokens USING btree (tenant, token_id)',
    ])
    assert.match(finding.byHand, /^restore a backup into a new, empty database \(psql -v ON_ERROR_STOP=1/)
  })

  test('doctor counts an index that is not valid, and therefore neither used nor enforced, as missing (C35)', async () => {
    const env = { STRONGROOM_DATABASE_URL: empty.url }
    assert.equal((await site.run(['migrate', ...site.keys], env)).code, 0)
    const client = new pg.Client(empty.url)
    await client.connect()
    await client.query(
      "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'api_keys_by_tenant'::regclass",
    )
    await client.end()
    const { code, stdout } = await site.run(['doctor', '--json', ...site.keys], env)
    assert.equal(code, 1)
    assert.match(
      JSON.parse(stdout)[0].problem,
      /lacks what this release made: unique index api_keys_by_tenant /,
    )
  })

  test('doctor names each trigger, rule and foreign key on the tables of the vault and where row-level security is on, and nothing on others (C29.4, C35)', async () => {
    const env = { STRONGROOM_DATABASE_URL: empty.url }
    assert.equal((await site.run(['migrate', ...site.keys], env)).code, 0)
    const client = new pg.Client(empty.url)
    await client.connect()
    await client.query(`CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
      CREATE TABLE another (id int);
      CREATE TRIGGER harmless BEFORE DELETE ON another FOR EACH ROW EXECUTE FUNCTION keep();
      CREATE TRIGGER keeps BEFORE DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION keep();
      CREATE RULE stays AS ON DELETE TO transients DO INSTEAD NOTHING;
      CREATE TABLE notes (hash bytea CONSTRAINT holds REFERENCES api_keys, id int PRIMARY KEY, other int REFERENCES notes);
      ALTER TABLE tokens ADD CONSTRAINT follows FOREIGN KEY (tenant) REFERENCES tenants ON DELETE CASCADE;
      ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
      ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
      CREATE POLICY seen ON api_keys FOR SELECT USING (true)`)
    await client.end()
    const { code, stdout } = await site.run(['doctor', '--json', ...site.keys], env)
    const [finding, ...others] = JSON.parse(stdout)
    assert.deepEqual([code, others], [1, []])
    assert.equal(
      finding.problem,
      `the schema holds what no release made: ${[
        'foreign key follows on tenants',
        'foreign key follows on tokens',
        'foreign key holds on api_keys',
        'row-level security on api_keys',
        'rule stays on transients',
        'trigger keeps on api_keys',
      ].join('; ')}`,
    )
  })

  for (const [what, change, name] of [
    [
      'with a body that keeps a key alive',
      "replace(pg_get_functiondef('apply_grants'::regproc), 'FROM api_keys WHERE', 'FROM api_keys WHERE false AND')",
      'apply_grants',
    ],
    [
      'with a comment more',
      "replace(pg_get_functiondef('apply_changes'::regproc), 'BEGIN', 'BEGIN --')",
      'apply_changes',
    ],
    ["with its owner's rights", "'ALTER FUNCTION apply_changes SECURITY DEFINER'", 'apply_changes'],
    [
      'that finds tables elsewhere',
      "'ALTER FUNCTION apply_changes SET search_path = planted'",
      'apply_changes',
    ],
    [
      'that answers to other arguments as well',
      "'CREATE FUNCTION move_counters(bigint, integer, json) RETURNS void LANGUAGE sql AS ''SELECT'''",
      'move_counters',
    ],
  ] as const)
    test(`doctor names a function of the vault ${what} (C29.4, C35)`, async () => {
      const env = { STRONGROOM_DATABASE_URL: empty.url }
      assert.equal((await site.run(['migrate', ...site.keys], env)).code, 0)
      const client = new pg.Client(empty.url)
      await client.connect()
      try {
        const { rows } = await client.query(`SELECT ${change} AS sql`)
        await client.query(rows[0].sql)
      } finally {
        await client.end()
      }
      const { code, stdout } = await site.run(['doctor', '--json', ...site.keys], env)
      const [finding, ...others] = JSON.parse(stdout)
      assert.deepEqual([code, others], [1, []])
      assert.match(finding.problem, /^the schema holds what no release made: another function [^;]*$/)
      assert.ok(finding.problem.includes(`function ${name}(`), finding.problem)
    })

  test('to a role that may not make temporary tables, doctor says what it left out, and makes all other checks (docs/running.md)', async () => {
    const role = `schema_owner_${crypto.randomUUID().slice(0, 8)}`
    const admin = new pg.Client(empty.url)
    await admin.connect()
    try {
      const url = new URL(empty.url)
      const database = url.pathname.slice(1)
      await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'x'; ALTER SCHEMA public OWNER TO ${role};
        REVOKE TEMPORARY ON DATABASE ${database} FROM PUBLIC`)
      url.username = role
      url.password = 'x'
      const env = { STRONGROOM_DATABASE_URL: url.href }
      assert.equal((await site.run(['migrate', ...site.keys], env)).code, 0)
      await admin.query('CREATE RULE stays AS ON DELETE TO transients DO INSTEAD NOTHING')
      const findings = async () =>
        JSON.parse((await site.run(['doctor', '--json', ...site.keys], env)).stdout)
      const [unknown, foreign, ...others] = await findings()
      assert.deepEqual(others, [])
      assert.equal(
        unknown.problem,
        'this role may not make temporary tables, with which the schema is compared: nothing is known of what it lacks',
      )
      assert.equal(
        unknown.byHand,
        `as the owner of the database: GRANT TEMPORARY ON DATABASE ${database} TO ${role}`,
      )
      assert.match(foreign.problem, /: rule stays on transients$/)
      await admin.query('DROP RULE stays ON transients')
      assert.equal((await findings()).length, 1)
      await admin.query(unknown.byHand.replace(/^.*?: /, ''))
      assert.deepEqual(await findings(), [])
    } finally {
      await admin.query(`DROP OWNED BY ${role}`)
      await admin.query(`DROP ROLE ${role}`)
      await admin.end()
    }
  })

  test('doctor names any table that the database has lost, and says to restore a backup (C35)', {
    skip: inShortRun,
  }, async () => {
    const env = { STRONGROOM_DATABASE_URL: empty.url }
    assert.equal((await site.run(['migrate'], env)).code, 0)
    const client = new pg.Client(empty.url)
    await client.connect()
    const { rows } = await client.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    const config = readConfig({
      options: { 'key-provider': 'file', 'master-key-file': site.masterKeyFile },
      environment: env,
    })
    assert.ok(rows.length > 10)
    for (const { tablename: table } of rows) {
      await client.query(`ALTER TABLE ${table} RENAME TO lost`)
      const report = new Report()
      await examine({ config, machine: thisMachine }, report)
      const [finding, ...others] = report.findings
      assert.deepEqual(others, [], table)
      assert.match(finding?.problem ?? '', new RegExp(`\\btable ${table}\\b`))
      assert.ok(finding && 'byHand' in finding)
      assert.match(finding.byHand, /^restore a backup into a new, empty database/)
      await client.query(`ALTER TABLE lost RENAME TO ${table}`)
    }
    await client.query('TRUNCATE migrations')
    await client.end()
    const told = await site.run(['doctor', '--json', ...site.keys], env)
    const [{ problem }] = JSON.parse(told.stdout)
    assert.match(
      problem,
      /has tables of a vault \(api_keys, .*\), but the table migrations, .* is lost or empty/,
    )
    for (const command of [['migrate'], ['serve', '--port', '0']])
      assertRefused(await site.run([...command, ...site.keys], env), 1, new RegExp(RegExp.escape(problem)))
  })

  test('of an older release is not changed by a command that only uses it, nor by anyone with another master key (C35)', {
    skip: inShortRun,
  }, async () => {
    const run = (args: string[], env: Record<string, string> = laterRelease) =>
      site.run([...args, ...(args.includes('--master-key-file') ? [] : site.keys)], {
        ...env,
        STRONGROOM_DATABASE_URL: empty.url,
      })
    assert.equal((await run(['migrate'], {})).code, 0)
    assert.equal((await run(['tenant', 'create', '--name', 'X'], {})).code, 0)
    const newestHere = postgresMigrations.at(-1)?.number ?? 0
    const wait = new RegExp(
      `has schema ${newestHere}, this release needs ${newestHere + 1}: run strongroom migrate( --\\S+ \\S+)+$`,
      'm',
    )
    assertRefused(await run(['tenant', 'list']), 1, wait)
    const other = join(site.path, 'other.key')
    createMasterKeyFile(other)
    for (const command of [['migrate'], ['migrate', '--distribute'], ['serve', '--port', '0']])
      assertRefused(
        await run([...command, ...site.keys, '--master-key-file', other]),
        1,
        /does not open with the master key in \S+other\.key/,
      )
    const { stdout } = await run(['migrate', '--status', '--json'])
    assert.equal(JSON.parse(stdout).current, newestHere)
  })
})
