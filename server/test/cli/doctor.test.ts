import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, test } from 'node:test'
import pg from 'pg'
import { examine } from '../../src/cli/doctor/examine.ts'
import type { Finding } from '../../src/cli/doctor/finding.ts'
import { type Machine, thisMachine } from '../../src/cli/doctor/machine.ts'
import { Report } from '../../src/cli/doctor/report.ts'
import { starterApplications } from '../../src/cli/starter-applications.ts'
import { readConfig } from '../../src/config/config.ts'
import { shellWord } from '../../src/domain/text/terminal.ts'
import { addMasterKey } from '../../src/keys/file/add-master-key.ts'
import { createMasterKeyFile } from '../../src/keys/file/create-master-key-file.ts'
import { fileKeyProvider } from '../../src/keys/file/file-key-provider.ts'
import { retireMasterKeys } from '../../src/keys/file/retire-master-keys.ts'
import { newMasterKeyText } from '../../src/keys/master-key.ts'
import { rewrap } from '../../src/keys/rewrap-key.ts'
import { vaultOwner } from '../../src/keys/wrapped-key.ts'
import { loadGrants } from '../../src/operations/grants/load-grants.ts'
import { createApiKey } from '../../src/operations/keys/create-api-key.ts'
import { deleteApiKey } from '../../src/operations/keys/delete-api-key.ts'
import { newDataKey } from '../../src/operations/maintenance/new-data-key.ts'
import { rewrapKeys } from '../../src/operations/maintenance/rewrap-keys.ts'
import { createTenant } from '../../src/operations/tenants/create-tenant.ts'
import { updateTenant } from '../../src/operations/tenants/update-tenant.ts'
import { createToken } from '../../src/operations/tokens/create-token.ts'
import { openVault } from '../../src/operations/vault/open-vault.ts'
import type { Vault } from '../../src/operations/vault/vault.ts'
import { openPostgres } from '../../src/store/postgres/postgres-store.ts'
import { newestSchema } from '../../src/store/sqlite/migrate.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { callerOf, operatorOf, someAct } from '../rig/caller-of.ts'
import { certificate } from '../rig/certificates.ts'
import { becomeLaterRelease, laterRelease } from '../rig/later-migration.ts'
import { inShortRun, isLong } from '../rig/long-run.ts'
import { emptyDatabase, settingsOf } from '../rig/postgres-databases.ts'
import { assertRefused, type Result, Site, withoutKey } from '../rig/program.ts'

type Told = { check: string; problem: string; first?: string; command?: string; byHand?: string }

const hourMs = 3_600_000
const dayMs = 24 * hourMs

describe('doctor', () => {
  let site: Site
  /** An odd name, so that a command that does not quote its paths fails. */
  let data: string
  let database: string
  let masterKeyFile: string
  let flags: string[]
  beforeEach(() => {
    site = new Site()
    const home = join(site.path, "the vault's home")
    mkdirSync(home, { mode: 0o700 })
    data = join(home, 'data $HOME')
    database = join(data, 'vault.db')
    masterKeyFile = join(home, 'master key')
    copyFileSync(site.masterKeyFile, masterKeyFile)
    flags = ['--data', data, '--key-provider', 'file', '--master-key-file', masterKeyFile]
  })
  let leaveLaterRelease: (() => void) | undefined
  afterEach(() => {
    leaveLaterRelease?.()
    leaveLaterRelease = undefined
    return site.remove()
  })

  /** The vault as a process with a different clock would use it. */
  const withVault = async (now: number, work: (vault: Vault) => Promise<unknown>): Promise<void> => {
    mkdirSync(data, { recursive: true, mode: 0o700 })
    // As commands do: a thread of its own would take longer to start than all else.
    const store = openSqlite({ path: database, writing: 'inline' })
    try {
      await work(await openVault({ store, keyProvider: fileKeyProvider(masterKeyFile), clock: () => now }))
    } finally {
      await store.close()
    }
  }
  const makeVault = (): Promise<void> => withVault(Date.now(), async () => undefined)
  const makeTenant = async (vault: Vault): Promise<string> => {
    let id = ''
    await createTenant(vault, { name: 'T', applications: starterApplications }, made => {
      id = made.tenantId
    })
    return id
  }

  const checked = (findings: Told[]): Told[] => {
    for (const { check, problem, ...remedy } of findings) {
      assert.ok(check && problem)
      assert.match(Object.keys(remedy).join(), /^((first,)?command|byHand)$/)
      // A server would go on writing to the files that a restore moves away.
      const isRestore = remedy.command?.includes('strongroom restore')
      assert.equal(
        remedy.first,
        isRestore ? 'stop every server and command that works on this vault' : undefined,
      )
    }
    return findings
  }
  const read = ({ code, stdout, stderr }: Result): Told[] => {
    assert.equal(stderr, '')
    const findings = checked(JSON.parse(stdout))
    assert.equal(code, findings.length === 0 ? 0 : 1)
    return findings
  }
  const asking = (...args: string[]): string[] => ['doctor', '--json', ...args]
  const line = (...args: string[]): string => ['strongroom', ...asking(...args)].map(shellWord).join(' ')

  /** Asks in this process, on a machine that may differ in one respect; starting the program would take most of the time. */
  const examineOn = async (machine: Partial<Machine>, vaultFlags = flags): Promise<Finding[]> => {
    const report = new Report()
    const config = readConfig({ options: Object.fromEntries(pairs(vaultFlags)), environment: {} })
    await examine({ config, machine: { ...thisMachine, ...machine } }, report)
    return report.findings
  }
  const ask = async (): Promise<Told[]> =>
    checked((await examineOn({})).map(({ blocks: _, ...told }) => told))

  const filled = (command: string, known: string): string =>
    command.replace(/^(backup|disk)=\/path\/to\/\S+/, (_all, name) => `${name}=${shellWord(known)}`)

  /**
   * Runs the printed command in the shell, filling in the path that only the operator knows where it asks for one.
   * Pasted as printed, such a command must first fail without having done anything.
   */
  const obey = async ({ command }: Told, known?: string): Promise<void> => {
    assert.ok(command)
    assert.equal(command.includes('/path/to/'), known !== undefined)
    if (known !== undefined) {
      const before = everything()
      const { code, stderr } = await site.shell(command)
      assert.notEqual(code, 0)
      assert.match(stderr, /\/path\/to\/.*No such file or directory|there is no backup \/path\/to\//)
      assert.deepEqual(everything(), before)
    }
    const { code, stderr } = await site.shell(filled(command, known ?? ''), leaveLaterRelease && laterRelease)
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  }
  /** Every file of the vault and its master key, with its content. */
  const everything = (): [string, string][] =>
    readdirSync(dirname(data), { recursive: true, withFileTypes: true })
      .map(entry => [entry, join(entry.parentPath, entry.name)] as const)
      .map(([entry, path]): [string, string] => [path, entry.isFile() ? readFileSync(path, 'latin1') : ''])
      .sort()

  test('a healthy vault has no problems, even while a server runs on it (C35)', async () => {
    const server = await site.serve(flags)
    assert.deepEqual(await ask(), [])
    const { code, stdout } = await site.run(['doctor', ...flags])
    assert.deepEqual([code, withoutKey(stdout)], [0, `in ${data}:\nno problems found\n`])
    assert.equal((await fetch(`${server.url}/ready`)).status, 200)
  })

  test('a symbolic link that leads nowhere is not a problem (C35)', async () => {
    await makeVault()
    symlinkSync('/nowhere', join(data, 'old.key'))
    assert.deepEqual(await ask(), [])
  })

  test('without --json, each finding is printed with its command below it, and the exit code is 1 (C35)', async () => {
    await makeVault()
    chmodSync(data, 0o755)
    const { code, stdout } = await site.run(['doctor', ...flags])
    assert.equal(code, 1)
    assert.equal(
      withoutKey(stdout),
      `in ${data}:\nfile permissions: ${data} is open to others (mkdir -m 700 makes a folder that is not)\n  chmod 700 ${shellWord(data)}\n`,
    )
  })

  for (const [name, below] of [
    ['data folder', ''],
    ['folder above the data', 'data'],
  ] as const)
    test(`a link to a disk that is not mounted, as the ${name}, is reported with what to do, and no vault is made (C35)`, async () => {
      const [link, disk] = [join(site.path, 'link'), join(site.path, 'disk')]
      symlinkSync(disk, link)
      flags = ['--data', join(link, below), ...site.keys]
      const [finding, ...others] = await ask()
      assert.deepEqual(others, [])
      assert.equal(finding?.problem, `the link ${link} leads to ${disk}, which is not there`)
      assert.match(finding?.byHand ?? '', /^mount the disk that it is on, or make the link or --data lead to/)
      for (const command of ['migrate', 'tenant list'])
        assertRefused(
          await site.run([...command.split(' '), ...flags]),
          2,
          /link leads to \S+disk, which is not there: mount the disk/,
        )
      mkdirSync(disk, { mode: 0o700 })
      assert.equal((await site.run(['migrate', ...flags])).code, 0)
      assert.deepEqual(await ask(), [])
    })

  /** Each finding: how it comes about and what doctor says. Then its command is run, and the finding is gone. */
  const findings: {
    name: string
    /** Repaired like others: only in the long run. */
    isSeldom?: true
    plant: () => Promise<string | undefined> | string | undefined
    check: string
    says: RegExp
  }[] = [
    {
      name: 'that there is no vault yet',
      plant: () => undefined,
      check: 'storage',
      says: /holds no vault yet$/,
    },
    {
      name: 'a data folder that others may enter',
      plant: async () => {
        await makeVault()
        chmodSync(data, 0o710)
        return undefined
      },
      check: 'file permissions',
      says: /data \$HOME is open to others \(mkdir -m 700 makes a folder that is not\)$/,
    },
    {
      name: 'a file with API keys that others may read',
      isSeldom: true,
      plant: async () => {
        await makeVault()
        const keys = join(data, 'dev-keys.json')
        writeFileSync(keys, '{}')
        chmodSync(keys, 0o644)
        return undefined
      },
      check: 'file permissions',
      says: /dev-keys\.json is open to others$/,
    },
    {
      name: 'a key file in the data folder that others may read',
      isSeldom: true,
      plant: async () => {
        await makeVault()
        const key = join(data, 'old.key')
        createMasterKeyFile(key)
        chmodSync(key, 0o640)
        return undefined
      },
      check: 'file permissions',
      says: /old\.key is open to others$/,
    },
    {
      name: 'a file in which no vault was made',
      isSeldom: true,
      plant: () => {
        mkdirSync(data, { mode: 0o700 })
        writeFileSync(database, '')
        return undefined
      },
      check: 'storage',
      says: /holds no vault yet$/,
    },
    {
      name: 'an older schema',
      isSeldom: true,
      plant: async () => {
        await makeVault()
        leaveLaterRelease = becomeLaterRelease()
        return undefined
      },
      check: 'storage',
      says: new RegExp(`^storage has schema ${newestSchema()}, this release needs ${newestSchema() + 1}$`),
    },
    {
      name: 'a schema that lacks some indexes and triggers',
      isSeldom: true,
      plant: async () => {
        const backup = await backUp()
        const opened = new DatabaseSync(database)
        opened.exec('DROP INDEX tokens_by_expiry; DROP TRIGGER transients_wiped')
        opened.close()
        return backup
      },
      check: 'storage',
      says: /^the schema lacks what this release made: index tokens_by_expiry on tokens \(expires_at, tenant, type\); trigger transients_wiped$/,
    },
    {
      name: 'a schema that lacks a table and a column',
      plant: async () => {
        await withVault(Date.now(), makeTenant)
        const backup = copyDatabase()
        const opened = new DatabaseSync(database)
        opened.exec('DROP TABLE tenants; ALTER TABLE terms DROP COLUMN signature')
        opened.close()
        return backup
      },
      check: 'storage',
      says: /^the schema lacks what this release made: table tenants; column terms\.signature$/,
    },
    {
      name: 'a vault without its keys',
      isSeldom: true,
      plant: async () => {
        const backup = await backUp()
        const opened = new DatabaseSync(database)
        opened.exec('DROP TABLE vault_keys')
        opened.close()
        return backup
      },
      check: 'storage',
      says: /vault\.db has lost the table vault_keys: restore a backup$/,
    },
    {
      name: 'a schema with a trigger and a view that no release made',
      isSeldom: true,
      plant: async () => {
        const backup = await backUp()
        const opened = new DatabaseSync(database)
        opened.exec(`
          DROP TRIGGER transients_wiped;
          CREATE TRIGGER transients_wiped AFTER DELETE ON transients BEGIN SELECT 1; END;
          CREATE VIEW "all\u0007" AS SELECT * FROM tokens`)
        opened.close()
        return backup
      },
      check: 'storage',
      says: /^the schema holds what no release made: trigger transients_wiped; view all\ufffd$/,
    },
    {
      name: 'a schema with a table and an index that no release made so',
      isSeldom: true,
      plant: async () => {
        const backup = await backUp()
        const opened = new DatabaseSync(database)
        opened.exec(`
          DROP TABLE grants_epoch;
          CREATE TABLE grants_epoch (id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL UNIQUE ON CONFLICT IGNORE);
          INSERT INTO grants_epoch VALUES (1, 1), (2, 2);
          CREATE UNIQUE INDEX one_each ON matches (tenant)`)
        opened.close()
        return backup
      },
      check: 'storage',
      says: /^the schema holds what no release made: table grants_epoch; index one_each$/,
    },
    {
      name: 'a vault file overwritten with something else',
      isSeldom: true,
      plant: async () => {
        const backup = await backUp()
        writeFileSync(database, 'overwritten'.repeat(1_000))
        return backup
      },
      check: 'storage',
      says: /vault\.db is damaged \(file is not a database\): restore a backup; what is there now is kept beside it$/,
    },
    {
      name: 'a missing master key file',
      plant: async () => {
        await makeVault()
        rmSync(masterKeyFile)
        return site.masterKeyFile
      },
      check: 'keys',
      says: /master key does not exist: .*; for a vault that exists, restore it from your backup$/,
    },
    {
      name: 'a master key file with something else in it',
      plant: async () => {
        await makeVault()
        writeFileSync(masterKeyFile, 'something else\n')
        return site.masterKeyFile
      },
      check: 'keys',
      says: /does not hold a master key/,
    },
    {
      name: 'the master key of another vault',
      isSeldom: true,
      plant: async () => {
        await makeVault()
        rmSync(masterKeyFile)
        createMasterKeyFile(masterKeyFile)
        return site.masterKeyFile
      },
      check: 'keys',
      says: /does not open with the master key in .*: restore the one that belongs to this storage$/,
    },
    {
      name: 'a master key file that others may read',
      plant: async () => {
        await makeVault()
        chmodSync(masterKeyFile, 0o644)
        return undefined
      },
      check: 'keys',
      says: /master key is open to others/,
    },
    {
      name: 'a rotation of the master key that was not ended',
      isSeldom: true,
      plant: async () => {
        await withVault(Date.now(), makeTenant)
        addMasterKey(masterKeyFile)
        await withVault(Date.now(), rewrapKeys)
        return undefined
      },
      check: 'keys',
      says: /master key still holds 1 older master key, though storage needs only the first$/,
    },
    {
      name: 'a tenant rekey that was interrupted',
      isSeldom: true,
      plant: async () => {
        await withVault(Date.now(), async vault => {
          let key = ''
          await createTenant(vault, { name: 'T', applications: starterApplications }, made => {
            key = made.keys.api_key
          })
          const caller = await callerOf(vault, key)
          assert.ok(caller)
          for (const data of ['a', 'b']) await createToken(vault, caller, { type: 'token', data })
          await newDataKey(vault, caller, someAct())
        })
        return undefined
      },
      check: 'keys',
      says: /^tenant [0-9a-f-]{36}: some of its tokens are not under its new data key: a tenant rekey was interrupted, or is under way$/,
    },
    {
      name: 'a tenant whose last management key has expired',
      isSeldom: true,
      plant: async () => {
        const now = Date.now()
        await withVault(now - dayMs, async vault => {
          const operator = await operatorOf(vault, await makeTenant(vault))
          const { grants } = await loadGrants(vault, operator)
          const application = grants.applications.find(({ type }) => type === 'management')
          const key = grants.apiKeys.find(({ row }) => row.applicationId === application?.id)
          assert.ok(application && key)
          const end = new Date(now - hourMs).toISOString()
          await createApiKey(vault, operator, application.id, { expires_at: end })
          await deleteApiKey(vault, operator, application.id, key.row.id)
        })
        return undefined
      },
      check: 'access',
      says: /^tenant [0-9a-f-]{36} has no live management key$/,
    },
    {
      name: 'an application that was changed in storage',
      plant: async () => {
        await withVault(Date.now(), makeTenant)
        const backup = copyDatabase()
        const opened = new DatabaseSync(database)
        opened.exec('UPDATE applications SET sealed = zeroblob(length(sealed))')
        opened.close()
        return backup
      },
      check: 'access',
      says: /^application [0-9a-f-]{36} is corrupt: its stored row was changed/,
    },
  ]
  for (const { name, isSeldom = false, plant, check, says } of findings)
    test(`doctor finds ${name}, and the command it prints repairs it (C35)`, {
      skip: isSeldom && inShortRun,
    }, async () => {
      const backup = await plant()
      const found = await ask()
      assert.equal(found.length, 1)
      const [finding] = found
      assert.ok(finding)
      assert.equal(finding.check, check)
      assert.match(finding.problem, says)
      await obey(finding, backup)
      assert.deepEqual(await ask(), [])
    })

  test('doctor names any table that the embedded store has lost, and how to restore it (C35)', async () => {
    const backup = await backUp()
    const opened = new DatabaseSync(backup)
    const tables = opened
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
      .all()
      .map(({ name }) => String(name))
    opened.close()
    assert.ok(tables.length > 10)
    for (const table of tables) {
      copyFileSync(backup, database)
      const opened = new DatabaseSync(database)
      opened.exec(`DROP TABLE ${table}`)
      opened.close()
      const [finding, ...others] = await examineOn({})
      assert.deepEqual(others, [], table)
      assert.match(finding?.problem ?? '', new RegExp(`(lost the|this release made:) table ${table}\\b`))
      assert.ok(finding && 'command' in finding && finding.command.startsWith('backup='))
    }
  })

  test('findings are reported before the error that stops doctor itself (C35)', async () => {
    await makeVault()
    chmodSync(data, 0o755)
    const { code, stdout, stderr } = await site.run(['doctor', '--json', '--data', data])
    assert.deepEqual(
      JSON.parse(stdout).map(({ check }: Told) => check),
      ['file permissions'],
    )
    assert.match(stderr, /^strongroom doctor: no key provider is configured[^\n]*\n$/)
    assert.equal(code, 2)
  })

  test('doctor finds a folder where the master key should be, and offers no command to open or copy it (C35)', async () => {
    await makeVault()
    for (const path of [masterKeyFile, join(data, 'master.key')]) {
      rmSync(path, { force: true })
      mkdirSync(path, { mode: 0o755 })
    }
    for (const args of [flags, ['--data', data]]) {
      const [finding, ...others] = read(await site.run(asking(...args)))
      assert.deepEqual(others, [])
      assert.deepEqual([finding?.check, finding?.command], ['keys', undefined])
      assert.match(finding?.problem ?? '', /^the master key file .*master.key is a folder$/)
      assert.match(
        finding?.byHand ?? '',
        /^name the file inside it that holds the key; if it is empty, put the key in its place/,
      )
    }
  })

  test('doctor finds a newer schema and says to install the newer release, not to replace the vault (C35)', async () => {
    await makeVault()
    const newer = newestSchema() + 1
    const opened = new DatabaseSync(database)
    opened.exec(`PRAGMA user_version = ${newer}`)
    opened.close()
    assert.deepEqual(await ask(), [
      {
        check: 'storage',
        problem: `storage has schema ${newer}, this release knows ${newer - 1}`,
        byHand:
          'install the newer release again; this one can only serve a backup from before the newer one was started',
      },
    ])
  })

  test('doctor reports a rotation that was not finished, step by step, with the command that finishes it (docs/keys.md)', async () => {
    await withVault(Date.now(), makeTenant)
    // The second time, the keys that the first has retired lie beside, and are not needed.
    for (const _rotation of isLong ? ['first', 'second'] : ['first']) {
      addMasterKey(masterKeyFile)
      const [unwrapped, ...others] = await ask()
      assert.deepEqual(others, [])
      assert.equal(unwrapped?.check, 'keys')
      assert.match(
        unwrapped.problem,
        /^7 keys in storage can be opened only with an older master key than the first$/,
      )
      await obey(unwrapped)
      const [unended] = await ask()
      assert.match(unended?.command ?? '', /^strongroom master-key retire /)
      assert.ok(unended)
      await obey(unended)
      assert.deepEqual(await ask(), [])
    }
  })

  test('wrapped keys of a tenant that do not open are reported, and the master key is not blamed (SECURITY.md)', async () => {
    await withVault(Date.now(), makeTenant)
    const opened = new DatabaseSync(database)
    opened.exec(`UPDATE slots SET bytes = zeroblob(size)
      WHERE slot IN (SELECT slot FROM tenant_keys WHERE purpose = 'index')`)
    opened.close()
    const [told, ...others] = await ask()
    assert.deepEqual(others, [])
    assert.equal(told?.check, 'keys')
    assert.match(
      told.problem,
      /^tenant \S+: its wrapped keys do not open, though the master key is the right one: they are damaged$/,
    )
    assert.match(told.command ?? '', /^backup=/)
  })

  test('with the provider env, doctor finds nothing once the older key can be left out (docs/keys.md)', async () => {
    await withVault(Date.now(), makeTenant)
    const [old, next] = [readFileSync(masterKeyFile, 'utf8').trim(), newMasterKeyText()]
    const env = { STRONGROOM_MASTER_KEY: `${next} ${old}` }
    const again = asking('--data', data, '--key-provider', 'env')
    const [finding] = read(await site.run(again, env))
    assert.ok(finding?.command)
    assert.equal((await site.shell(finding.command, env)).code, 0)
    assert.deepEqual(read(await site.run(again, env)), [])
    assert.deepEqual(read(await site.run(again, { STRONGROOM_MASTER_KEY: next })), [])
  })

  /** What `master-key add`, `rewrap` and `retire` do. */
  const rotate = async (): Promise<void> => {
    addMasterKey(masterKeyFile)
    await withVault(Date.now(), rewrapKeys)
    retireMasterKeys(masterKeyFile)
  }

  const restored: { name: string; make: () => Promise<string>; says: RegExp }[] = [
    {
      name: 'before two rotations of the master key',
      make: async () => {
        await withVault(Date.now(), makeTenant)
        const backup = copyDatabase()
        await rotate()
        await rotate()
        return backup
      },
      says: /^storage is from before a rotation of the master key: 7 keys in it can be opened only with what is in .*master key\.retired$/,
    },
    {
      name: 'the middle of a rotation, when only the keys of tenants were still under the older master key',
      make: async () => {
        await withVault(Date.now(), makeTenant)
        addMasterKey(masterKeyFile)
        await withVault(Date.now(), async vault => {
          const { store, keyProvider } = vault
          for (const row of await store.listVaultKeys())
            assert.ok(await store.replaceKey('vault', row, await rewrap(keyProvider, vaultOwner, row)))
        })
        const backup = copyDatabase()
        await withVault(Date.now(), rewrapKeys)
        retireMasterKeys(masterKeyFile)
        return backup
      },
      says: /: 3 keys in it can be opened only with what is in .*master key\.retired$/,
    },
    {
      name: 'before a rotation, where the key file has lost the end of its last line',
      make: async () => {
        await withVault(Date.now(), makeTenant)
        const backup = copyDatabase()
        await rotate()
        writeFileSync(masterKeyFile, readFileSync(masterKeyFile, 'utf8').trimEnd())
        return backup
      },
      says: /: 7 keys in it/,
    },
  ]
  for (const { name, make, says } of restored)
    test(`a backup from ${name} opens with the retired keys, which doctor brings back below the one that wraps (docs/backups.md)`, {
      skip: !name.startsWith('before two') && inShortRun,
    }, async () => {
      const backup = await make()
      const [first = '', ...marks] = readFileSync(masterKeyFile, 'utf8').trimEnd().split('\n')
      const retired = readFileSync(`${masterKeyFile}.retired`, 'utf8')
      assert.deepEqual(await ask(), [])
      copyFileSync(backup, database)
      const [finding, ...others] = await ask()
      assert.deepEqual(others, [])
      assert.equal(finding?.check, 'keys')
      assert.match(finding.problem, says)
      await obey(finding)
      assert.deepEqual(await ask(), [])
      // As it was: the newest key wraps everything, and a later rotation finds the same marks.
      const [firstNow, ...marksNow] = readFileSync(masterKeyFile, 'utf8').trimEnd().split('\n')
      assert.equal(firstNow, first)
      assert.deepEqual(marksNow.sort(), marks.sort())
      assert.equal(readFileSync(`${masterKeyFile}.retired`, 'utf8'), retired)
    })

  test('retired keys that do not open storage either are not brought back (docs/running.md)', async () => {
    await withVault(Date.now(), makeTenant)
    await rotate()
    writeFileSync(masterKeyFile, `${newMasterKeyText()}\n`)
    writeFileSync(`${masterKeyFile}.retired`, `${newMasterKeyText()}\n`)
    const [finding] = await ask()
    assert.match(finding?.command ?? '', /^backup=\/path\/to\/your\/master\.key /)
  })

  test('a master key replaced by a restore is kept (C35)', async () => {
    await makeVault()
    rmSync(masterKeyFile)
    createMasterKeyFile(masterKeyFile)
    const other = readFileSync(masterKeyFile, 'utf8')
    const [finding] = await ask()
    assert.ok(finding)
    await obey(finding, site.masterKeyFile)
    assert.equal(readFileSync(masterKeyFile, 'utf8'), readFileSync(site.masterKeyFile, 'utf8'))
    const home = dirname(masterKeyFile)
    const [aside = ''] = readdirSync(home).filter(name => name.startsWith('master key.set-aside-'))
    assert.equal(readFileSync(join(home, aside), 'utf8'), other)
    assert.equal(statSync(join(home, aside)).mode & 0o777, 0o600)
  })

  test('a restore moves aside what it replaces: a damaged file and a log that holds answered writes; what it puts there is closed to all but the owner of the folder (C35)', {
    skip: inShortRun,
  }, async () => {
    const server = await site.serve(flags)
    const backup = join(site.path, 'backup.db')
    assert.equal((await site.run(['backup', backup, ...flags])).code, 0)
    assert.equal((await site.run(['tenant', 'create', '--name', 'T', ...flags])).code, 0)
    server.child.kill('SIGKILL')
    await server.exited
    const log = readFileSync(`${database}-wal`)
    assert.ok(log.length > 0)
    writeFileSync(database, 'overwritten'.repeat(1_000))
    chmodSync(backup, 0o644)
    // Only root can restore for another user.
    if (process.geteuid?.() === 0) chownSync(data, 65_534, 65_534)
    const [finding] = await ask()
    assert.doesNotMatch(finding?.command ?? '', /\brm\b/)
    assert.ok(finding)
    await obey(finding, backup)
    assert.deepEqual(await ask(), [])
    const [aside = ''] = readdirSync(data).filter(name => name.startsWith('set-aside-'))
    assert.deepEqual(readFileSync(join(data, aside, 'vault.db-wal')), log)
    assert.match(readFileSync(join(data, aside, 'vault.db'), 'utf8'), /^overwritten/)
    const { mode, uid } = statSync(database)
    assert.deepEqual([mode & 0o777, uid], [0o600, statSync(data).uid])
  })

  test('a planted trigger keeps every command from the vault; doctor names it, and says what it left out (C31.7, C35)', async () => {
    await makeVault()
    const opened = new DatabaseSync(database)
    opened.exec('CREATE TRIGGER planted AFTER INSERT ON tokens BEGIN SELECT 1; END')
    opened.close()
    for (const command of [
      ['serve', '--port', '0'],
      ['tenant', 'list'],
    ])
      assertRefused(
        await site.run([...command, ...flags]),
        1,
        /vault\.db has a schema that no release made: strongroom doctor --data \S+.* says what differs$/m,
      )
    const { code, stdout, stderr } = await site.run(['doctor', '--deep', ...flags])
    assert.equal(code, 1)
    assert.match(
      stdout,
      /no release made: trigger planted\n {2}first: stop every server and command that works on this vault\n {2}backup=/,
    )
    assert.equal(stderr, 'strongroom doctor: it has not looked at tokens: this must be repaired first\n')
  })

  test('when pages are damaged, doctor says how to restore, and other commands refer to doctor (C35)', async () => {
    await withVault(Date.now(), makeTenant)
    const backup = copyDatabase()
    const pages = readFileSync(database)
    // All but the first page, which says that the file is a database.
    writeFileSync(database, pages.fill(0x5a, 4_096))
    const [finding, ...others] = await ask()
    assert.deepEqual(others, [])
    assert.equal(finding?.check, 'storage')
    assert.match(finding.problem, /vault\.db is damaged \(.*malformed.*\): restore a backup/)
    for (const command of [
      ['serve', '--port', '0'],
      ['tenant', 'list'],
    ])
      assertRefused(
        await site.run([...command, ...flags]),
        1,
        /malformed.*; the file is damaged: strongroom doctor --data \S+.* says how to restore a backup$/m,
      )
    await obey(finding, backup)
    assert.deepEqual(await ask(), [])
  })

  const copyDatabase = (): string => {
    const backup = join(site.path, 'backup.db')
    copyFileSync(database, backup)
    return backup
  }
  const backUp = async (): Promise<string> => {
    await makeVault()
    return copyDatabase()
  }

  test('a damaged page that only --deep comes upon is a finding too, with how to restore (C35)', async () => {
    await withVault(Date.now(), makeTenant)
    const opened = new DatabaseSync(database)
    const { at, size } = opened
      .prepare(
        "SELECT (rootpage - 1) * page_size AS at, page_size AS size FROM sqlite_schema, pragma_page_size WHERE name = 'terms'",
      )
      .get() as { at: number; size: number }
    opened.close()
    writeFileSync(database, readFileSync(database).fill(0x5a, at, at + size))
    assert.deepEqual(await ask(), [])
    const [finding, ...others] = read(await site.run(asking('--deep', ...flags)))
    assert.deepEqual(others, [])
    assert.match(finding?.problem ?? '', /vault\.db is damaged \(.*malformed.*\): restore a backup/)
    assert.match(finding?.command ?? '', /^backup=/)
  })

  describe('with the provider env', () => {
    const again = (): string => line('--data', data, '--key-provider', 'env')
    const see = async (key: string): Promise<Told> => {
      const [finding, ...others] = read(await site.shell(again(), { STRONGROOM_MASTER_KEY: key }))
      assert.ok(finding)
      assert.deepEqual([finding.check, others], ['keys', []])
      return finding
    }
    /** What the operator is to run if the key in the backup is an older one, and what otherwise. */
    const choicesOf = ({ byHand = '' }: Told): { older: string; other: string } => {
      const [, older = '', other = ''] = /^if [^:]+: (backup=.*); otherwise: (backup=.*)$/.exec(byHand) ?? []
      assert.ok(older && other, byHand)
      return { older, other }
    }
    /** Pasted as printed, it does nothing. */
    const assertHarmless = async (command: string, key: string): Promise<void> => {
      const echo = `${command}; echo "$STRONGROOM_MASTER_KEY"`
      const { code, stdout } = await site.shell(echo, { STRONGROOM_MASTER_KEY: key })
      assert.deepEqual({ code, stdout }, { code: 0, stdout: `${key}\n` })
    }

    test('doctor finds a wrong key; its command repairs it in the same shell without showing the key (C35)', async () => {
      await makeVault()
      const wrong = newMasterKeyText()
      const finding = await see(wrong)
      assert.match(finding.problem, /does not open with the master key in STRONGROOM_MASTER_KEY/)
      const { other } = choicesOf(finding)
      await assertHarmless(other, wrong)
      const env = { STRONGROOM_MASTER_KEY: wrong }
      assert.deepEqual(read(await site.shell(`${filled(other, site.masterKeyFile)} && ${again()}`, env)), [])
    })

    test('doctor finds what is no key at all, and its command repairs it (C35)', {
      skip: inShortRun,
    }, async () => {
      await makeVault()
      const { command = '' } = await see('no key')
      await assertHarmless(command, 'no key')
      const env = { STRONGROOM_MASTER_KEY: 'no key' }
      assert.deepEqual(
        read(await site.shell(`${filled(command, site.masterKeyFile)} && ${again()}`, env)),
        [],
      )
    })

    test('a backup from before a rotation opens with the older key behind the one that wraps, and needs only that one afterwards (docs/running.md)', {
      skip: inShortRun,
    }, async () => {
      await withVault(Date.now(), makeTenant)
      const newest = newMasterKeyText()
      const { older } = choicesOf(await see(newest))
      await assertHarmless(older, newest)
      const env = { STRONGROOM_MASTER_KEY: newest }
      const mended = await site.shell(`${filled(older, site.masterKeyFile)} >&2 && ${again()}`, env)
      assert.deepEqual([mended.code, JSON.parse(mended.stdout)], [0, []])
      assert.deepEqual(read(await site.shell(again(), env)), [])
    })
  })

  test('doctor finds a clock that is behind (planted as a token from a node whose clock is ahead), offers no command to set it, and finds nothing once the time is right (C35)', async () => {
    const ahead = Date.now() + hourMs
    await withVault(ahead, async vault => {
      const operator = await operatorOf(vault, await makeTenant(vault))
      const { grants } = await loadGrants(vault, operator)
      const application = grants.applications.find(({ name }) => name === 'general')
      assert.ok(application)
      await createToken(vault, { ...operator, application }, { type: 'token', data: 'x' })
    })
    const [finding, ...others] = await ask()
    assert.deepEqual(others, [])
    assert.deepEqual([finding?.check, finding?.command], ['clock', undefined])
    assert.match(
      finding?.byHand ?? '',
      /^compare "date -u" with a clock .*, and set this machine's if it is behind/,
    )
    const end = Date.parse(/or wait until (\S+)$/.exec(finding?.byHand ?? '')?.[1] ?? '')
    assert.equal((await examineOn({ now: () => end - 1 })).length, 1)
    assert.deepEqual(await examineOn({ now: () => end }), [])
    assert.deepEqual(await examineOn({ now: () => ahead }), [])
  })

  test('doctor finds a low limit of open files; it offers a command only where a shell may run it, and then the command repairs it (C35)', async t => {
    await makeVault()
    const [finding, ...others] = read(await site.shell(`ulimit -n 512; ${line(...flags)}`))
    assert.deepEqual(others, [])
    assert.equal(finding?.check, 'limits')
    assert.match(finding.problem, /^only 512 files may be open at once/)
    if (finding.command === undefined) {
      t.diagnostic('this machine lets no shell raise its limit, so nothing is run')
      assert.match(finding.byHand ?? '', /LimitNOFILE=65536 in its systemd unit/)
      assert.notEqual((await site.shell('ulimit -n 512; ulimit -n 65536')).code, 0)
    } else
      assert.deepEqual(read(await site.shell(`ulimit -n 512; ${finding.command}; ${line(...flags)}`)), [])
    const [raisable] = await examineOn({
      openFilesMax: () => 512,
      obeys: command => command === 'ulimit -n 65536',
    })
    assert.ok(raisable && 'command' in raisable)
    assert.equal(raisable.command, 'ulimit -n 65536')
    assert.deepEqual(await examineOn({ openFilesMax: () => 1_024 }), [])
  })

  test('doctor finds a disk that is nearly full (its free bytes are simulated); its command moves the vault to a larger one (C35)', async () => {
    await makeVault()
    const disk = join(site.path, 'larger disk')
    mkdirSync(disk)
    const freeBytes = (folder: string): number => 256 * 1_048_576 - (folder === data ? 1 : 0)
    const [finding, ...others] = await examineOn({ freeBytes })
    assert.deepEqual(others, [])
    assert.equal(finding?.check, 'limits')
    assert.match(
      finding.problem,
      /^less than 256 MiB are free where the data is: .* start it with --data there$/,
    )
    await obey(finding, disk)
    flags = ['--data', join(disk, basename(data)), ...flags.slice(2)]
    assert.deepEqual(await examineOn({ freeBytes }), [])
    assert.deepEqual(await ask(), [])
    assert.ok(!existsSync(data), 'nothing is left behind')
  })

  test('doctor finds a database that does not answer, and says what to check (C35)', async () => {
    const nobody = 'postgres://somebody@127.0.0.1:1/nowhere'
    const [finding, ...others] = read(
      await site.run(asking(...flags.slice(2)), { STRONGROOM_DATABASE_URL: nobody }),
    )
    assert.deepEqual(others, [])
    assert.deepEqual([finding?.check, finding?.command], ['storage', undefined])
    assert.match(finding?.byHand ?? '', /^start the database server, or correct /)
    const { code, stdout } = await site.run(['doctor', ...flags.slice(2)], {
      STRONGROOM_DATABASE_URL: nobody,
    })
    assert.equal(code, 1)
    assert.match(
      stdout,
      /^in postgres:\S+\nstorage: the database does not answer or refuses this user: connect ECONNREFUSED[^\n]*\n {2}by hand: start /,
    )
    const lost = await site.run(['doctor', ...flags.slice(2), '--database-password-file', '/no/password'], {
      STRONGROOM_DATABASE_URL: nobody,
    })
    assert.match(lost.stderr, /^strongroom doctor: \/no\/password does not exist\n$/)
    assert.equal(lost.code, 2)
  })

  test('doctor finds an empty database with an encoding that cannot hold a vault, and does not send anyone to migrate (C35)', async () => {
    const database = await emptyDatabase("ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    try {
      const env = { STRONGROOM_DATABASE_URL: database.url }
      const [finding, ...others] = read(await site.run(asking(...flags.slice(2)), env))
      assert.deepEqual(others, [])
      assert.deepEqual(finding, {
        check: 'storage',
        problem: 'the database has the encoding LATIN1',
        byHand:
          'make one with UTF8 (createdb -T template0 -E UTF8), and name that one in STRONGROOM_DATABASE_URL',
      })
      assertRefused(
        await site.run(['migrate', '--status', ...flags.slice(2)], env),
        1,
        /the database has the encoding LATIN1: make one with UTF8/,
      )
    } finally {
      await database.drop()
    }
  })

  test('doctor says what a database refuses to a user who may not read the vault in it (C35)', async () => {
    const database = await emptyDatabase()
    const owner = new pg.Client(database.url)
    const stranger = `stranger_${randomUUID().slice(0, 8)}`
    try {
      await (await openPostgres(settingsOf(database.url))).close()
      await owner.connect()
      await owner.query(`CREATE ROLE ${stranger} LOGIN PASSWORD 'x'`)
      const url = new URL(database.url)
      url.username = stranger
      url.password = 'x'
      const [finding, ...others] = read(
        await site.run(asking(...flags.slice(2)), { STRONGROOM_DATABASE_URL: url.href }),
      )
      assert.deepEqual(others, [])
      assert.match(finding?.problem ?? '', /refuses this user: permission denied for table \w+$/)
      assert.match(finding?.byHand ?? '', /the vault's tables in it must belong to the user$/)
    } finally {
      await owner.query(`DROP ROLE IF EXISTS ${stranger}`)
      await owner.end()
      await database.drop()
    }
  })

  test('doctor finds TLS files that serve would not start with, and says so in the words of serve (C35)', async () => {
    await makeVault()
    const { cert, key } = certificate('localhost')
    const [certFile, keyFile] = [site.file('cert.pem', cert), site.file('key.pem', key)]
    const otherKey = site.file('other-key.pem', certificate('localhost').key)
    const tls = (certPath: string, keyPath: string): string[] => [
      ...['--tls-cert', certPath],
      ...['--tls-key', keyPath],
    ]
    const wrong: { files: string[]; says: RegExp }[] = [
      { files: tls('/nowhere.pem', keyFile), says: /the TLS file \/nowhere\.pem does not exist$/ },
      { files: tls(certFile, site.path), says: /the TLS file \S+ is a folder$/ },
      { files: tls(certFile, otherKey), says: /do not hold a certificate and its key \(PEM\)$/ },
    ]
    for (const { files, says } of wrong) {
      const [finding, ...others] = read(await site.run(asking(...flags, ...files)))
      assert.deepEqual(others, [])
      assert.equal(finding?.check, 'tls')
      assert.match(finding.problem, says)
      assert.match(finding.byHand ?? '', /^correct the files, or --tls-cert/)
      const { stderr } = await site.runRefused(['serve', ...flags, ...files])
      assert.equal(stderr, `strongroom serve: ${finding.problem}\n`)
    }
    assert.deepEqual(read(await site.run(asking(...flags, ...tls(certFile, keyFile)))), [])
  })

  /** TLS files, as flags; the key has an odd name. */
  const tlsFlags = (from: number, until: number, keyMode = 0o600): string[] => {
    const valid = { from: new Date(from), until: new Date(until) }
    const { cert, key } = certificate('localhost', undefined, valid)
    const keyFile = site.file("the server's key.pem", key)
    chmodSync(keyFile, keyMode)
    return ['--tls-cert', site.file('cert.pem', cert), '--tls-key', keyFile]
  }

  test('doctor notes a tenant whose callers may name any destination (U11.6)', async () => {
    await withVault(Date.now(), async vault => {
      const operator = await operatorOf(vault, await makeTenant(vault))
      await updateTenant(vault, operator, { name: 'x', settings: { disable_ephemeral_proxy: 'false' } })
    })
    const { code, stderr } = await site.run(['doctor', ...flags])
    assert.equal(code, 0)
    assert.match(
      stderr,
      /^strongroom doctor: tenant \S+ has disable_ephemeral_proxy "false": whoever holds token:use /,
    )
  })

  test('doctor finds a certificate that has expired or is not valid yet, and notes one that expires within two weeks (docs/running.md)', async () => {
    await makeVault()
    const now = Math.floor(Date.now() / 1_000) * 1_000
    const wrong: { dates: [number, number]; says: RegExp }[] = [
      { dates: [now - 9 * dayMs, now - dayMs], says: /cert\.pem expired on 2\S+Z$/ },
      { dates: [now + dayMs, now + 99 * dayMs], says: /cert\.pem is not valid until 2\S+Z$/ },
    ]
    for (const { dates, says } of wrong) {
      const [finding, ...others] = await examineOn({}, [...flags, ...tlsFlags(...dates)])
      assert.deepEqual(others, [])
      assert.equal(finding?.check, 'tls')
      assert.match(finding.problem, says)
      assert.match('byHand' in finding ? finding.byHand : '', /^put a valid one in its place/)
    }
    const due = now + 14 * dayMs
    const files = tlsFlags(now - dayMs, due)
    assert.deepEqual(await examineOn({ now: () => due }, [...flags, ...files]), [])
    assert.equal((await examineOn({ now: () => due + 1 }, [...flags, ...files])).length, 1)
    const soon = await site.run(['doctor', ...flags, ...files])
    assert.deepEqual(
      { ...soon, stdout: withoutKey(soon.stdout) },
      {
        code: 0,
        signal: null,
        stdout: `in ${data}:\nno problems found\n`,
        stderr: `strongroom doctor: the TLS certificate ${join(site.path, 'cert.pem')} expires on ${new Date(due).toISOString()}\n`,
      },
    )
    const later = await site.run(['doctor', ...flags, ...tlsFlags(now - dayMs, due + dayMs)])
    assert.deepEqual([later.code, later.stderr], [0, ''])
  })

  test('doctor finds a TLS key that others may read or its group may write, and the command it prints leaves the group what it may read (docs/running.md)', async () => {
    await makeVault()
    const now = Date.now()
    for (const [mode, closed] of [
      [0o666, 0o640],
      [0o604, 0o600],
      [0o602, 0o600],
      [0o660, 0o640],
    ] as const) {
      const files = tlsFlags(now - dayMs, now + 99 * dayMs, mode)
      const [finding, ...others] = read(await site.run(asking(...flags, ...files)))
      assert.deepEqual(others, [])
      assert.equal(finding?.check, 'tls')
      assert.match(finding.problem, /the server's key\.pem is open to others$/)
      await obey(finding)
      assert.equal(statSync(files[3] ?? '').mode & 0o777, closed)
      assert.deepEqual(read(await site.run(asking(...flags, ...files))), [])
    }
  })

  test('findings that do not block are reported together, and a blocking one comes last (C35)', async () => {
    await makeVault()
    chmodSync(data, 0o755)
    rmSync(masterKeyFile)
    assert.deepEqual(
      (await ask()).map(({ check }) => check),
      ['file permissions', 'keys'],
    )
  })

  test('the folder of strongroom dev needs no further settings, even when its key is lost (C35)', async () => {
    await makeVault()
    const devKey = join(data, 'master.key')
    copyFileSync(masterKeyFile, devKey)
    writeFileSync(join(data, 'dev-keys.json'), '{}', { mode: 0o600 })
    flags = ['--data', data]
    assert.deepEqual(await ask(), [])
    rmSync(devKey)
    const [finding] = await ask()
    assert.equal(finding?.check, 'keys')
    await obey(finding, masterKeyFile)
    assert.deepEqual(await ask(), [])
  })

  test('with incomplete settings, doctor says what is missing and the exit code is 2 (C35)', async () => {
    assertRefused(await site.run(['doctor']), 2, /storage is not configured/)
    await makeVault()
    assertRefused(await site.run(['doctor', '--data', data]), 2, /no key provider is configured/)
    assertRefused(
      await site.run(['doctor', '--data', data, '--key-provider', 'env']),
      2,
      /needs STRONGROOM_MASTER_KEY/,
    )
    assertRefused(await site.run(['doctor', '--data', masterKeyFile]), 2, /it is not a folder/)
  })
})

const pairs = (args: readonly string[]): [string, string][] =>
  args.flatMap((arg, index) => (index % 2 === 0 ? [[arg.slice(2), args[index + 1] ?? '']] : []))
