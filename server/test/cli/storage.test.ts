import assert from 'node:assert/strict'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { storageFlags } from '../../src/cli/vault-flags.ts'
import { readConfig } from '../../src/config/config.ts'
import { createMasterKeyFile } from '../../src/keys/file/create-master-key-file.ts'
import { migrations } from '../../src/store/sqlite/migrate.ts'
import { laterRelease } from '../rig/later-migration.ts'
import { inShortRun } from '../rig/long-run.ts'
import { emptyDatabase } from '../rig/postgres-databases.ts'
import { assertRefused, Site, withoutKey } from '../rig/program.ts'

const newest = migrations.at(-1)?.number ?? 0

describe('which storage a command works on', () => {
  let site: Site
  /** Stays empty: where it does not, the test has another. */
  let database: Awaited<ReturnType<typeof emptyDatabase>>
  let env: { STRONGROOM_DATABASE_URL: string }
  before(async () => {
    database = await emptyDatabase()
    env = { STRONGROOM_DATABASE_URL: database.url }
  })
  after(() => database.drop())
  beforeEach(() => {
    site = new Site()
  })
  afterEach(() => site.remove())
  const isEmpty = async (): Promise<boolean> => {
    const { code, stderr } = await site.run(['migrate', '--status'], env)
    return code === 2 && stderr.includes('holds no vault')
  }

  test('--data overrides STRONGROOM_DATABASE_URL, even for commands that delete, and each command names what it works on (C35.4)', async () => {
    assert.equal((await site.run(['migrate', ...site.vault], env)).code, 0)
    const { tenant_id: id } = await site.json('tenant', 'create', '--name', 'X')
    const unsure = await site.run(['tenant', 'delete', id, ...site.vault], env)
    assertRefused(unsure, 2, new RegExp(`everything in it from ${RegExp.escape(site.data)}$`, 'm'))
    const sure = await site.run(['tenant', 'delete', id, '--yes', ...site.vault], env)
    assert.equal(sure.stdout, `tenant ${id} is deleted from ${site.data}\n`)
    const doctor = await site.run(['doctor', ...site.vault], env)
    assert.equal(withoutKey(doctor.stdout), `in ${site.data}:\nno problems found\n`)
    const server = site.start(['serve', '--port', '0', ...site.vault], env)
    assert.equal(JSON.parse(await server.logged('listening')).storage, site.data)
    assert.ok(await isEmpty(), 'nothing was made in the database')
  })

  test('a database is named without its password (C35.4)', async t => {
    const database = await emptyDatabase()
    t.after(async () => {
      await site.remove()
      await database.drop()
    })
    const server = await site.serve([], { STRONGROOM_DATABASE_URL: database.url })
    const { storage } = JSON.parse(await server.logged('listening'))
    assert.match(storage, /^postgres:\/\/\w+@/)
    assert.ok(!server.stderr.includes(new URL(database.url).password))
    const { storage: made } = JSON.parse(await server.logged('there was no vault, and a new one was made'))
    assert.equal(made, storage)
  })

  test('printed commands name a database with the files that it takes to reach it, and without its password (C35.4)', () => {
    const environment = {
      STRONGROOM_DATABASE_URL: 'postgres://a%40b:secret@[::1]:5433/d',
      STRONGROOM_DATABASE_PASSWORD_FILE: '/the password',
      STRONGROOM_DATABASE_CA: '/ca.pem',
    }
    assert.match(
      storageFlags(readConfig({ options: {}, environment })),
      /^--database-url 'postgres:\/\/a%40b@\[::1\]:5433\/d\?[^']+' --database-password-file '\/the password' --database-ca \/ca\.pem$/,
    )
  })

  test('a folder and a database of the same rank are refused in one line that names both, and neither is touched (C35.4)', async () => {
    for (const command of [['serve'], ['tenant', 'delete', 'x', '--yes']])
      assertRefused(
        await site.runRefused([...command, ...site.keys], { ...env, STRONGROOM_DATA: site.data }),
        2,
        /STRONGROOM_DATA and STRONGROOM_DATABASE_URL both say where the vault is/,
      )
    assert.ok(!existsSync(site.data))
    assert.ok(await isEmpty())
  })

  test('dev keeps to its folder even if the environment names a database, and says so in one line (C34.1)', {
    skip: inShortRun,
  }, async () => {
    const program = site.start(['dev', '--port', '0'], env)
    await program.line('stdout', line => line.startsWith('Strongroom answers at'))
    assert.ok(existsSync(join(site.path, '.strongroom', 'vault.db')))
    assert.match(
      program.stderr,
      /^strongroom dev: the vault is in \S+\.strongroom; the database of the settings is not used\n$/,
    )
    assert.ok(await isEmpty())
    assertRefused(
      await site.runRefused(['dev', '--database-url', 'postgres://u@h/d']),
      2,
      /dev keeps its vault in a folder: leave out --database-url/,
    )
  })
})

describe('a missing vault', () => {
  let site: Site
  let file: string
  beforeEach(() => {
    site = new Site()
    file = join(site.data, 'vault.db')
  })
  afterEach(() => site.remove())

  test('a folder that cannot be made is refused, also where a parent exists and takes none (C35)', async t => {
    if (!existsSync('/proc/self')) return t.skip('this system has no /proc')
    const [place, key] = ['/proc/no/folder', '/proc/no/folder/master.key']
    assertRefused(
      await site.run(['migrate', '--data', place, ...site.keys]),
      2,
      /\/proc\/no\/folder cannot be used/,
    )
    assertRefused(
      await site.run(['master-key', '--master-key-file', key]),
      2,
      /\/proc\/no\/folder\/master\.key cannot be written \(ENOENT\)$/m,
    )
  })

  /** What a server left that was killed. */
  const killed = new Site()
  let log: string
  before(async () => {
    const server = await killed.serve()
    server.child.kill('SIGKILL')
    log = (await server.exited).stderr
    assert.ok(readFileSync(join(killed.data, 'vault.db-wal')).length > 0)
  })
  after(() => killed.remove())

  test('serve warns in one line that it made a new vault, and where; the next start causes no warning (C35.1)', async () => {
    const made = 'there was no vault, and a new one was made'
    const [warning, ...others] = log.split('\n').filter(line => line.includes(made))
    assert.deepEqual(others, [])
    const { level, storage } = JSON.parse(warning ?? '')
    assert.deepEqual([level, storage], [40, killed.data])
    cpSync(killed.data, site.data, { recursive: true })
    const second = await site.serve(['--master-key-file', killed.masterKeyFile])
    assert.ok(!second.stderr.includes(made))
  })

  const remains: { name: string; plant: () => void; says: RegExp }[] = [
    {
      name: 'the log of a vault whose database is gone',
      plant: () => rmSync(file),
      says: /vault\.db-wal holds writes, but \S+vault\.db is gone: put the vault\.db that belongs to it beside it/,
    },
    {
      name: 'the log of a vault whose database is empty',
      plant: () => writeFileSync(file, ''),
      says: /vault\.db-wal holds writes, but \S+vault\.db is empty: put the vault\.db that belongs to it beside it/,
    },
    {
      name: 'the folder of a restore that was killed',
      plant: () => {
        rmSync(file)
        rmSync(`${file}-wal`)
        mkdirSync(join(site.data, 'restoring'))
      },
      says: /restoring is of a restore that is not done, and \S+vault\.db is gone: wait for it; or, if it was stopped, delete that folder and run strongroom restore .*again$/m,
    },
    {
      name: 'a vault that was set aside and never restored',
      plant: () => {
        const aside = join(site.data, 'set-aside-x')
        mkdirSync(aside)
        for (const ending of ['', '-wal', '-shm'])
          renameSync(`${file}${ending}`, join(aside, `vault.db${ending}`))
      },
      says: /set-aside-x was set aside by a restore, but \S+vault\.db is gone: run strongroom restore .*with a backup/,
    },
  ]
  for (const { name, plant, says } of remains)
    test(`${name} is left alone by every command that would make a vault (C35.1)`, async () => {
      cpSync(killed.data, site.data, { recursive: true })
      plant()
      const before = contents()
      for (const command of [
        ['serve', ...site.vault],
        ['backup', 'x', ...site.vault],
        ['dev', '--port', '0', '--data', site.data],
      ])
        assertRefused(await site.runRefused(command), 1, says)
      const doctor = await site.run(['doctor', '--json', ...site.vault])
      const [finding] = JSON.parse(doctor.stdout)
      assert.deepEqual([doctor.code, finding.check, finding.command], [1, 'storage', undefined])
      assert.match(finding.problem, says)
      assert.deepEqual(contents(), before)
    })
  const contents = (): (readonly [string, string])[] =>
    readdirSync(site.data, { recursive: true, encoding: 'utf8' })
      .map(name => join(site.data, name))
      .map(path => [path, statSync(path).isFile() ? readFileSync(path, 'latin1') : ''] as const)

  test('the database of another program is left alone (C35.1)', async () => {
    mkdirSync(site.data, { mode: 0o700 })
    const database = new DatabaseSync(file)
    database.exec('CREATE TABLE notes (text TEXT)')
    database.close()
    const before = readFileSync(file)
    for (const command of ['serve', 'migrate'])
      assertRefused(
        await site.run([...command.split(' '), ...site.vault]),
        1,
        /vault\.db is another program's SQLite database: use another folder/,
      )
    const [finding] = JSON.parse((await site.run(['doctor', '--json', ...site.vault])).stdout)
    assert.match(finding.problem, /is another program's SQLite database/)
    assert.deepEqual(readFileSync(file), before)
  })
})

describe('a vault of an older release', () => {
  let site: Site
  beforeEach(async () => {
    site = new Site()
    await site.run(['migrate', ...site.vault])
    await site.json('tenant', 'create', '--name', 'X')
  })
  afterEach(() => site.remove())
  const run = (...args: string[]) => site.run([...args, ...site.vault], laterRelease)
  const schema = async (): Promise<number> =>
    JSON.parse((await run('migrate', '--status', '--json')).stdout).current

  test('is not changed by a command that only uses it: each says to run strongroom migrate (C35)', {
    skip: inShortRun,
  }, async () => {
    for (const command of [
      'tenant list',
      'tenant create --name Y',
      'app list --tenant x',
      'key list --tenant x --app y',
    ])
      assertRefused(
        await run(...command.split(' ')),
        1,
        new RegExp(
          `has schema ${newest}, this release needs ${newest + 1}: run strongroom migrate( --\\S+ \\S+)+$`,
          'm',
        ),
      )
    assert.equal((await run('doctor')).code, 1)
    assert.equal(await schema(), newest)
  })

  test('is not changed by anyone with another master key or none (C35)', {
    skip: inShortRun,
  }, async () => {
    const other = join(site.path, 'other.key')
    createMasterKeyFile(other)
    for (const command of [['migrate'], ['serve', '--port', '0']])
      assertRefused(
        await site.run([...command, ...site.vault, '--master-key-file', other], laterRelease),
        1,
        /does not open with the master key in \S+other\.key/,
      )
    const withoutKeys = await site.run(['migrate', '--data', site.data], laterRelease)
    assertRefused(withoutKeys, 2, /no key provider is configured/)
    assert.equal(await schema(), newest)
  })

  test('is brought up to date by migrate (C35)', {
    skip: inShortRun,
  }, async () => {
    assert.equal((await run('migrate')).code, 0)
    assert.equal(await schema(), newest + 1)
  })

  test('is brought up to date by serve (C35)', async () => {
    const server = await site.serve([], laterRelease)
    assert.ok(!server.stderr.includes('a new one was made'))
    assert.equal(await schema(), newest + 1)
  })
})
