import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { assertRefused, call, type Program, Site } from './program.ts'

describe('backup', () => {
  const site = new Site()
  let server: Program & { url: string }
  let keys: Record<string, string>
  before(async () => {
    server = await site.serve()
    keys = await site.json('tenant', 'create', '--name', 'X')
  })
  after(() => site.remove())
  const create = async (data: string): Promise<string> =>
    (await call(server.url, 'POST', '/tokens', keys.api_key ?? '', { type: 'token', data })).body.id

  test('C35 beside a running server it copies what was answered into one closed file, which serves as the vault', async () => {
    const ids = [await create('one'), await create('two')]
    const file = join(site.path, 'backup.db')
    const { code, stdout, stderr } = await site.run(['backup', file, ...site.vault])
    assert.deepEqual(
      { code, stdout, stderr },
      { code: 0, stdout: `${site.data} is backed up in ${file}; the master key is not in it\n`, stderr: '' },
    )
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.ok(!readdirSync(site.path).some(name => name.startsWith('backup.db.')))
    const later = await create('three')

    const restored = join(site.path, 'restored')
    mkdirSync(restored, { mode: 0o700 })
    copyFileSync(file, join(restored, 'vault.db'))
    const vault = ['--data', restored, ...site.keys]
    const doctor = await site.run(['doctor', '--deep', ...vault])
    assert.equal(doctor.stdout, `in ${restored}:\nno problems found\n`)
    const { url } = await site.serve(['--data', restored])
    const status = async (id: string): Promise<number> =>
      (await call(url, 'GET', `/tokens/${id}`, keys.private_api_key ?? '')).status
    assert.deepEqual(await Promise.all([...ids, later].map(status)), [200, 200, 404])
  })

  test('C35 it overwrites nothing, and leaves nothing half done', async () => {
    const taken = site.file('taken.db', 'mine')
    assertRefused(
      await site.run(['backup', taken, ...site.vault]),
      2,
      /taken\.db exists and is not overwritten$/m,
    )
    const half = join(site.path, 'half.db')
    writeFileSync(`${half}.part`, '')
    assertRefused(
      await site.run(['backup', half, ...site.vault]),
      2,
      /half\.db\.part exists: wait for the backup/,
    )
    assert.ok(!existsSync(half))
    assertRefused(
      await site.run(['backup', join(site.path, 'none', 'x.db'), ...site.vault]),
      2,
      /there is no folder \S+none$/m,
    )
    assertRefused(await site.run(['backup', ...site.vault]), 2, /<new file> is missing/)
    assertRefused(
      await site.run(['backup', half, '--data', join(site.path, 'nothing')]),
      2,
      /nothing holds no vault/,
    )
    assertRefused(
      await site.run(['backup', half, '--database-url', 'postgres://u@h/d']),
      2,
      /a vault on PostgreSQL is backed up with pg_dump/,
    )
  })
})
