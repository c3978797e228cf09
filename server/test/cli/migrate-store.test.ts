import assert from 'node:assert/strict'
import { copyFileSync, cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import pg from 'pg'
import { invocation } from '../../src/cli/command.ts'
import { commandOf } from '../../src/cli/commands/registry.ts'
import { markAsMoved } from '../../src/cli/data-folder/moved-folder.ts'
import { ConfigError } from '../../src/config/config-error.ts'
import { createMasterKeyFile } from '../../src/keys/file/create-master-key-file.ts'
import { fileKeyProvider } from '../../src/keys/file/file-key-provider.ts'
import { copyVault } from '../../src/operations/transfer/copy-vault.ts'
import { openVault } from '../../src/operations/vault/open-vault.ts'
import { openCopyTarget } from '../../src/store/postgres/copy-target.ts'
import { schemaState } from '../../src/store/postgres/migrate.ts'
import { openPostgres, withClient } from '../../src/store/postgres/postgres-store.ts'
import { openCopySource } from '../../src/store/sqlite/copy-source.ts'
import { tables } from '../../src/store/tables.ts'
import { CutLine } from '../rig/cut-line.ts'
import { postgres, sqlite } from '../rig/engines.ts'
import { becomeLaterRelease, laterRelease } from '../rig/later-migration.ts'
import { livedInVault } from '../rig/lived-in-vault.ts'
import { inShortRun } from '../rig/long-run.ts'
import { emptyDatabase, settingsOf } from '../rig/postgres-databases.ts'
import { assertRefused, Site } from '../rig/program.ts'
import { storedRows } from '../rig/stored-rows.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { owner, TestVault } from '../rig/test-vault.ts'
import { sealedBytes, survivors } from '../store/survivors.ts'

type Database = Awaited<ReturnType<typeof emptyDatabase>>

const anHourMs = 3_600_000
const aDayMs = 24 * anHourMs

describe('migrate-store', () => {
  let site: Site
  let database: Database
  beforeEach(async () => {
    site = new Site()
    database = await emptyDatabase()
  })
  let leaveLaterRelease: (() => void) | undefined
  afterEach(async () => {
    leaveLaterRelease?.()
    leaveLaterRelease = undefined
    await site.remove()
    await database.drop()
  })
  const moving = (vault: TestVault, ...args: string[]) =>
    [
      ['migrate-store', '--from', vault.folder.path, ...args],
      { STRONGROOM_DATABASE_URL: database.url },
    ] as const
  const move = (vault: TestVault, ...args: string[]) => site.run(...moving(vault, ...args))

  test('the copy answers as the source did and keeps working (C35)', async () => {
    const lived = await livedInVault()
    const { vault, ids, keys } = lived
    try {
      const before = await lived.answers()
      const tenants = await vault.store.listTenants()
      await vault.close()
      const [held] = await sqlite.reach(vault.folder.path, 'SELECT count(*) AS n FROM transients')
      assert.ok(Number(held?.n) > 0)

      const { code, stdout, stderr } = await site.start(...moving(vault)).exited
      assert.equal(code, 0, stderr)
      assert.match(
        stdout,
        /^done: (\d+) rows copied in .* holds all \1, .* every seal opens\n.*strongroom serve --database-url \S+ --key-provider file/,
      )
      assert.match(stderr, /^copying: 100 %.*\n(.*\n)*verifying: 100 %/m)
      const again = JSON.parse((await move(vault, '--json')).stdout)
      assert.deepEqual([again.was_done, again.copied], [true, 0], 'a second time there is nothing to do')
      const { transients, ...rows } = again.rows
      assert.equal(transients, 0, 'the source has forgotten them')
      for (const { name } of tables)
        if (name !== 'transients') assert.ok(rows[name] > 0, `${name} has nothing to copy`)
      const copiedKey = join(site.path, 'copied.key')
      copyFileSync(join(vault.folder.path, 'master.key'), copiedKey)
      const named = await move(vault, '--master-key-file', copiedKey)
      assert.match(named.stdout, /--key-provider file --master-key-file \S+copied\.key$/m)
      await sqlite.reach(vault.folder.path, 'UPDATE grants_epoch SET epoch = epoch + 1')
      assertRefused(await move(vault), 1, /or from this one before it was written to: give an empty/)

      writeFileSync(join(vault.folder.path, 'database'), database.url)
      await vault.openOn(postgres)
      assert.deepEqual(await lived.answers(), before)
      const { tenantId } = await vault.tenant({ owner })
      // There was one more, which was deleted.
      assert.equal(await vault.tenantNumber(tenantId), tenants.length + 2, 'no number is given twice')
      vault.now += anHourMs
      assert.equal((await vault.get(`/tokens/${ids.card}`, keys.owner)).body.data.cvc, undefined)
      vault.now += aDayMs
      await vault.service.jobTimer.runAll()
      assert.equal((await vault.get(`/tokens/${ids.brief}`, keys.owner)).status, 404)
      for (const name of ['dead_tenants', 'transients'])
        assert.deepEqual(await storedRows(vault, name), [], name)
    } finally {
      await vault.stop().catch(() => {})
    }
  })

  test('a folder whose vault has moved is neither served nor written to nor backed up, and says where the vault is (C35)', async () => {
    const vault = await TestVault.start({ engine: sqlite })
    try {
      await vault.tenant({ owner })
      await vault.close()
      const folder = vault.folder.path
      const inFolder = (...command: string[]) => {
        const keys = ['--key-provider', 'file', '--master-key-file', join(folder, 'master.key')]
        return site.run([...command, '--data', folder, ...(command[0] === 'backup' ? [] : keys)])
      }
      assert.equal((await move(vault)).code, 0)
      const { hostname, port, pathname, password } = new URL(database.url)
      const moved = new RegExp(`the vault was moved to postgres://\\S+@${hostname}:${port}${pathname}\\b`)
      const refused = [
        ['tenant', 'list'],
        ['migrate'],
        ['backup', join(site.path, 'late.db')],
        ['serve', '--port', '0'],
      ]
      for (const command of refused) {
        const result = await inFolder(...command)
        assertRefused(result, 2, moved)
        assert.ok(!result.stderr.includes(password), 'the password is not shown')
      }
      assertRefused(await site.run(['dev', '--port', '0', '--data', folder]), 2, moved)
      const [finding] = JSON.parse((await inFolder('doctor', '--json')).stdout)
      assert.match(finding.problem, moved)
      assert.equal(JSON.parse((await move(vault, '--json')).stdout).was_done, true, 'it can be asked again')

      rmSync(join(folder, 'moved-to'))
      assert.equal((await inFolder('tenant', 'list')).code, 0, 'whoever gives the move up can go back')
    } finally {
      vault.folder.remove()
    }
  })

  /** What a run has done by the time it is killed, all of it after the database was finished. */
  const killedAfter: Record<string, (folder: string, copied: string, to: string) => void> = {
    'the copy': () => {},
    'the copy was written down': (folder, copied, to) => markAsMoved(folder, { to, copied }),
    'the source forgot': (folder, copied, to) => {
      markAsMoved(folder, { to, copied })
      const source = openCopySource(join(folder, 'vault.db'))
      source.forgetTransients()
      source.close()
    },
    'all was done': (folder, copied, to) => {
      const source = openCopySource(join(folder, 'vault.db'))
      markAsMoved(folder, { to, copied, left: source.forgetTransients() })
      source.close()
    },
  }
  for (const [moment, finish] of Object.entries(killedAfter))
    test(`no byte of a cvc is left in the folder that a vault has left, also by a run that was killed after ${moment} (C11.3, C35)`, {
      skip: moment !== 'the source forgot' && inShortRun,
    }, async () => {
      const vault = await TestVault.start({ engine: sqlite })
      const folder = vault.folder.path
      try {
        const { keys } = await vault.tenant({ owner })
        const data = { number: '4242424242424242', cvc: '123' }
        const cards = Array.from({ length: 300 }, () => ({ type: 'card', data }))
        await vault.post('/tokenize', keys.owner, cards)
        await vault.create(keys.owner, { id: 'card', type: 'card', data })
        await vault.close()
        const sealed = sealedBytes(
          folder,
          'SELECT s.bytes FROM transients t JOIN slots s ON s.slot = t.slot ORDER BY t.slot',
        )
        assert.equal(survivors(folder, sealed).length, 301)

        const source = openCopySource(join(folder, 'vault.db'))
        const target = await openCopyTarget(settingsOf(database.url), source.identity)
        const keyProvider = fileKeyProvider(join(folder, 'master.key'))
        await copyVault({ source, target, keyProvider, report: () => {} })
        await target.close()
        source.close()
        finish(folder, source.identity, 'postgres://somewhere')
        if (moment !== 'the copy')
          assertRefused(
            await site.run(['dev', '--port', '0', '--data', folder]),
            2,
            moment === 'all was done'
              ? /is only a backup/
              : /card codes.*run the same strongroom migrate-store/,
          )

        const again = await move(vault, '--json')
        assert.equal(JSON.parse(again.stdout).was_done, true, again.stderr)
        assert.deepEqual(survivors(folder, sealed), [])
        assertRefused(await site.run(['dev', '--port', '0', '--data', folder]), 2, /is only a backup/)
        assert.equal(JSON.parse((await move(vault, '--json')).stdout).was_done, true)

        writeFileSync(join(folder, 'database'), database.url)
        await vault.openOn(postgres)
        assert.equal((await vault.get('/tokens/card', keys.owner)).body.data.cvc, '123', 'the copy has them')
      } finally {
        await vault.stop().catch(() => {})
      }
    })

  for (const [what, statement, schema, isLater] of [
    ['before its first table', 'CREATE TABLE vault_keys', 0, false],
    ['between two migrations', 'INTO migrations (number, name) VALUES (2', 1, true],
  ] as const)
    test(`a copy cut off while making the schema, ${what}, can be resumed, and until then nothing serves the database (C35)`, {
      skip: inShortRun,
    }, async () => {
      const vault = await TestVault.start({ engine: sqlite })
      const near = new URL(database.url)
      const line = new CutLine({ host: near.hostname, port: Number(near.port) })
      near.port = String(await line.listen())
      try {
        const { keys } = await vault.tenant({ owner })
        await vault.create(keys.owner, { id: 'moved', type: 'token', data: 'x' })
        await vault.close()
        const release = isLater ? laterRelease : {}
        if (isLater) leaveLaterRelease = becomeLaterRelease()
        await (await sqlite.open(vault.folder.path)).close()
        line.cutOn(sent => sent.includes(statement), { isHeard: false })
        const cut = await site.run(['migrate-store', '--from', vault.folder.path], {
          STRONGROOM_DATABASE_URL: near.href,
          ...release,
        })
        assert.equal(cut.code, 1, cut.stdout)
        assert.equal((await withClient(settingsOf(database.url), schemaState)).current, schema)

        const keyFile = ['--key-provider', 'file', '--master-key-file', join(vault.folder.path, 'master.key')]
        const env = { STRONGROOM_DATABASE_URL: database.url, ...release }
        const unfinished =
          /a copy into this storage is not finished: run the same strongroom migrate-store( --.*)? again$/m
        for (const command of [['migrate'], ['tenant', 'list'], ['serve', '--port', '0']])
          assertRefused(await site.run([...command, ...keyFile], env), 1, unfinished)
        await assert.rejects(openPostgres(settingsOf(database.url)), ({ cause }: Error) =>
          unfinished.test(String(cause)),
        )
        const examined = await site.run(['doctor', '--json', ...keyFile], env)
        assert.equal(examined.code, 1, examined.stderr)
        const [finding] = JSON.parse(examined.stdout)
        assert.match(finding.problem, unfinished)
        assert.match(finding.byHand, /^run the same strongroom migrate-store again/)
        await assert.rejects(openCopyTarget(settingsOf(database.url), 'another'), /is of another source/)

        const [args] = moving(vault, '--json')
        const { code, stdout, stderr } = await site.run(args, env)
        assert.equal(code, 0, stderr)
        const { done, rows } = JSON.parse(stdout)
        assert.deepEqual({ code, done, tokens: rows.tokens }, { code: 0, done: true, tokens: 1 })
        await (await openPostgres(settingsOf(database.url))).close()
      } finally {
        await line.close()
        vault.folder.remove()
      }
    })

  for (const [what, ...plant] of [
    [
      'a trigger',
      'CREATE TABLE kept (id)',
      'CREATE TRIGGER keeps AFTER INSERT ON terms BEGIN INSERT INTO kept VALUES (new.token_id); END',
    ],
    [
      'a view',
      'CREATE TABLE kept (id)',
      'ALTER TABLE tenants RENAME TO moved',
      'CREATE VIEW tenants AS SELECT moved.* FROM moved LEFT JOIN kept',
    ],
  ] as const)
    test(`${what} planted in the source is not run, and the copy is refused (C31.7, C35)`, async () => {
      const vault = await TestVault.start({ engine: sqlite })
      try {
        const { keys } = await vault.tenant({ owner })
        // Its fingerprint waits for its place in the index, and is put there before a copy.
        await vault.create(keys.owner, { type: 'card', data: { number: '4242424242424242' } })
        await vault.close()
        for (const statement of plant) await sqlite.reach(vault.folder.path, statement)
        assertRefused(await move(vault), 1, /vault\.db has a schema that no release made/)
        assert.deepEqual(await sqlite.reach(vault.folder.path, 'SELECT id FROM kept'), [])
      } finally {
        vault.folder.remove()
      }
    })

  test('a tampered row of the source is named, and the copy is not done (C35)', async () => {
    const vault = await TestVault.start({ engine: sqlite })
    try {
      const { keys } = await vault.tenant({ owner })
      await vault.create(keys.owner, { id: 'spoilt', type: 'token', data: 'x' })
      await vault.close()
      await sqlite.reach(vault.folder.path, 'UPDATE tokens SET version = version + 1')
      const { code, stdout } = await move(vault)
      assert.equal(code, 1)
      assert.match(
        stdout,
        /^not done: at least 1 row is wrong.*\n {2}tokens 1 spoilt does not open\nrestore the source/,
      )
    } finally {
      vault.folder.remove()
    }
  })

  describe('a vault of several batches', () => {
    let vault: TestVault
    let key: string
    const texts = Array.from({ length: 1_000 }, (_, n) => `text ${n}`)
    before(async () => {
      vault = await TestVault.start({ engine: sqlite })
      key = (await vault.tenant({ owner })).keys.owner
      for (let time = 0; time < 4; time++) await vault.post('/tokenize', key, texts)
      await vault.close()
    })
    after(() => vault.folder.remove())

    test('a copy killed midway cannot be served, and resumes where it was (C35)', {
      skip: inShortRun,
    }, async () => {
      const killed = site.start(...moving(vault, '--json'))
      const line = await killed.line('stderr', text => JSON.parse(text).done > 0)
      killed.child.kill('SIGKILL')
      assert.equal((await killed.exited).signal, 'SIGKILL')
      const env = { STRONGROOM_DATABASE_URL: database.url }
      const keyFile = ['--key-provider', 'file', '--master-key-file', join(vault.folder.path, 'master.key')]
      assertRefused(
        await site.run(['serve', '--port', '0', ...keyFile], env),
        1,
        /a copy into this storage is not finished: run the same strongroom migrate-store --.* again/,
      )

      const { code, stdout } = await move(vault, '--json')
      const { done: isDone, copied, rows } = JSON.parse(stdout)
      assert.deepEqual({ code, isDone, tokens: rows.tokens }, { code: 0, isDone: true, tokens: 4_000 })
      const { done, of } = JSON.parse(line)
      assert.ok(copied <= of - done, `${copied} of ${of} were copied, although ${done} were there`)
      const doctor = await site.run(['doctor', '--deep', '--json', ...keyFile], env)
      const checks = JSON.parse(doctor.stdout).map(({ check }: { check: string }) => check)
      assert.deepEqual(checks, ['access'], 'the test made no management key; all else is well')
    })
  })
})

describe('migrate-store refuses, in a line that says what to do', () => {
  let template: TestVault
  let folder: ReturnType<typeof temporaryFolder>
  let database: Database
  before(async () => {
    template = await TestVault.start({ engine: sqlite })
    await template.tenant({ owner })
    await template.close()
  })
  after(() => template.folder.remove())
  beforeEach(async () => {
    folder = temporaryFolder()
    cpSync(template.folder.path, folder.path, { recursive: true })
    database = await emptyDatabase()
  })
  let leaveLaterRelease: (() => void) | undefined
  afterEach(async () => {
    leaveLaterRelease?.()
    leaveLaterRelease = undefined
    folder.remove()
    await database.drop()
  })
  const command = commandOf(['migrate-store'])
  assert.ok(command)
  const move = (args = ['--from', folder.path, '--to', withoutPassword(database.url)]) =>
    command.run(
      invocation(command, [...args, '--json'], {
        STRONGROOM_DATABASE_PASSWORD_FILE: passwordFile(folder.path, database.url),
      }),
    )
  const inSource = (sql: string) => sqlite.reach(folder.path, sql)
  const inDatabase = async (sql: string): Promise<void> => {
    const client = new pg.Client(database.url)
    await client.connect()
    await client.query(sql).finally(() => client.end())
  }
  const openDatabase = () => openPostgres(settingsOf(database.url))

  const cases: {
    name: string
    plant?: () => Promise<unknown>
    args?: () => string[]
    says: RegExp
    /** Not merely refused but called wrongly: exit code 2. */
    isWronglyCalled?: true
  }[] = [
    {
      name: 'a source that is being served',
      plant: async () => held(await sqlite.open(folder.path)),
      says: /vault\.db is in use: stop the server or command that works on it$/,
    },
    {
      name: 'a source of an older release',
      plant: async () => {
        leaveLaterRelease = becomeLaterRelease()
      },
      says: /has schema 1, this release needs \d+: run strongroom migrate --data \S+$/,
    },
    {
      name: 'a source of a newer release',
      plant: () => inSource('PRAGMA user_version = 99'),
      says: /has schema 99, this release knows \d+: install the newer release$/,
    },
    {
      name: 'a source with a value that no PostgreSQL column accepts',
      plant: () => inSource("UPDATE tenants SET revision = 'many'"),
      says: /^tenants 1 holds a value that the vault never wrote: restore the source from a backup$/,
    },
    {
      name: 'the master key of another vault',
      plant: async () => {
        rmSync(join(folder.path, 'master.key'))
        createMasterKeyFile(join(folder.path, 'master.key'))
      },
      says: /master\.key/,
    },
    {
      name: 'a database with the schema of an older release',
      plant: async () => {
        await (await openDatabase()).close()
        leaveLaterRelease = becomeLaterRelease()
        await (await sqlite.open(folder.path)).close()
      },
      says: /has schema 1, this release needs \d+: run strongroom migrate( --.*)?, or give an empty database$/,
    },
    {
      name: 'a database with the schema of a newer release',
      plant: async () => {
        await (await openDatabase()).close()
        await inDatabase("INSERT INTO migrations VALUES (99, 'later')")
      },
      says: /has schema 99, this release knows \d+: install the newer release, or give an empty database$/,
    },
    {
      name: 'a database with another vault',
      plant: async () => {
        const store = await openDatabase()
        const keyProvider = fileKeyProvider(join(folder.path, 'master.key'))
        await openVault({ store, keyProvider, clock: Date.now })
        await store.close()
      },
      says: /^the database holds another vault: give an empty database$/,
    },
    {
      name: 'a database with a vault that has lost its list of migrations',
      plant: async () => {
        await (await openDatabase()).close()
        await inDatabase('DROP TABLE migrations')
      },
      says: /^the database holds another vault: give an empty database$/,
    },
    {
      name: 'a database with an unfinished copy of another vault',
      plant: async () => (await openCopyTarget(settingsOf(database.url), 'another')).close(),
      says: /^the copy in the database is of another source, .*: give an empty database$/,
    },
    {
      name: 'a database that another copy is being written to',
      plant: async () => held(await openCopyTarget(settingsOf(database.url), 'another')),
      says: /^another copy into this database is under way: wait for it$/,
    },
    {
      name: 'a password on the command line',
      args: () => ['--from', folder.path, '--to', database.url],
      says: /^--to holds a password, which others could read: set STRONGROOM_DATABASE_URL or STRONGROOM_DATABASE_PASSWORD_FILE$/,
      isWronglyCalled: true,
    },
    {
      name: 'a folder without a vault',
      args: () => ['--from', join(folder.path, 'none'), '--to', withoutPassword(database.url)],
      says: /none holds no vault: strongroom migrate .*makes one$/,
      isWronglyCalled: true,
    },
    {
      name: 'a call without a source',
      args: () => ['--to', withoutPassword(database.url)],
      says: /^the source is missing: set --from or STRONGROOM_DATA$/,
      isWronglyCalled: true,
    },
    {
      name: 'a call without a target',
      args: () => ['--from', folder.path],
      says: /^the target is missing: set --to or STRONGROOM_DATABASE_URL$/,
      isWronglyCalled: true,
    },
    {
      name: 'a copy from a database back to a folder',
      args: () => ['--from', database.url, '--to', folder.path],
      says: /^--to must start with postgres:\/\/$/,
      isWronglyCalled: true,
    },
    {
      name: 'a database as the source',
      args: () => ['--from', database.url, '--to', withoutPassword(database.url)],
      says: /^--from must be a folder: a vault on PostgreSQL is not copied back$/,
      isWronglyCalled: true,
    },
  ]

  let toClose: { close(): unknown } | undefined
  const held = (opened: { close(): unknown }): void => {
    toClose = opened
  }
  afterEach(async () => {
    await toClose?.close()
    toClose = undefined
  })

  for (const { name, plant, args, says, isWronglyCalled = false } of cases)
    test(`${name} (C35)`, async () => {
      await plant?.()
      await assert.rejects(
        async () => move(args?.()),
        (error: Error) => {
          assert.match(error.message, says)
          assert.equal(error instanceof ConfigError, isWronglyCalled)
          return true
        },
      )
    })
})

const withoutPassword = (url: string): string => {
  const address = new URL(url)
  address.password = ''
  return address.href
}

const passwordFile = (folder: string, url: string): string => {
  const path = join(folder, 'password')
  writeFileSync(path, new URL(url).password, { mode: 0o600 })
  return path
}
