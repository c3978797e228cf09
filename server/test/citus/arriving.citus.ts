import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { after, afterEach, beforeEach, describe, test } from 'node:test'
import { openPostgres } from '../../src/store/postgres/postgres-store.ts'
import { citusServers, queryAt } from '../rig/citus-cluster.ts'
import { engines } from '../rig/engines.ts'
import { type LivedInVault, livedInVault } from '../rig/lived-in-vault.ts'
import { emptyDatabase, settingsOf } from '../rig/postgres-databases.ts'
import { Site } from '../rig/program.ts'

const [citus] = engines
assert.equal(citus?.name, 'citus')

describe('a vault that moves into a cluster', () => {
  const site = new Site()
  let lived: LivedInVault
  let before: Record<string, unknown>
  beforeEach(async () => {
    lived = await livedInVault()
    before = await lived.answers()
    await lived.vault.close()
  })
  afterEach(() => lived.vault.folder.remove())
  after(() => site.remove())

  const run = async (url: string, ...args: string[]): Promise<void> => {
    const { code, stderr } = await site.run(args, { STRONGROOM_DATABASE_URL: url })
    assert.equal(code, 0, stderr)
  }
  const copyInto = (url: string) => run(url, 'migrate-store', '--from', lived.vault.folder.path)
  const distribute = (url: string) => run(url, 'migrate', '--distribute')

  const arrives = async (move: (url: string) => Promise<void>): Promise<void> => {
    const { url, drop } = await emptyDatabase()
    try {
      await move(url)
      await lived.vault.openOn({ ...citus, open: () => openPostgres(settingsOf(url)) })
      assert.deepEqual(await lived.answers(), before)
      await lived.vault.close()
      const [{ tokens } = {}] = await queryAt(url, 'SELECT count(*) AS tokens FROM tokens')
      const held = await queryAt(
        url,
        "SELECT result FROM run_command_on_shards('tokens', 'SELECT count(*) FROM %s')",
      )
      assert.ok(Number(tokens) > 0)
      assert.equal(
        held.reduce((sum, { result }) => sum + Number(result), 0),
        Number(tokens),
        'all are on shards',
      )
    } finally {
      await drop()
    }
  }

  test('from a folder into a cluster that is empty, it answers as before (C35)', () =>
    arrives(async url => {
      await distribute(url)
      await copyInto(url)
    }))

  test('from a folder into the coordinator, and distributed then, it answers as before (C35)', () =>
    arrives(async url => {
      await copyInto(url)
      await distribute(url)
    }))

  test('from a PostgreSQL server by a dump, restored at the coordinator and distributed, it answers as before (C35)', () =>
    arrives(async url => {
      const [server = ''] = citusServers
      const plain = new URL(server)
      const name = `strongroom_${crypto.randomUUID().replaceAll('-', '')}`
      plain.pathname = `/${name}`
      await queryAt(server, `CREATE DATABASE ${name}`)
      try {
        await copyInto(plain.href)
        const dump = execFileSync(program('pg_dump'), ['--no-owner', plain.href], libpq)
        execFileSync(program('psql'), ['-q', '-v', 'ON_ERROR_STOP=1', url], { ...libpq, input: dump })
        await distribute(url)
      } finally {
        await queryAt(server, `DROP DATABASE ${name} WITH (FORCE)`)
      }
    }))
})

const program = (name: string): string =>
  join(execFileSync(process.env.PG_CONFIG ?? 'pg_config', ['--bindir'], { encoding: 'utf8' }).trim(), name)

/** Programs of PostgreSQL do not know the authorities that Node trusts. */
const libpq = {
  maxBuffer: 2 ** 30,
  env: { ...process.env, PGSSLROOTCERT: process.env.NODE_EXTRA_CA_CERTS ?? '' },
}
