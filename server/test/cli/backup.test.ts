import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { survivors } from '../store/survivors.ts'
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
  /** All bytes of one query to the vault as it is now. */
  const storedBytes = (sql: string): Uint8Array[] => {
    const database = new DatabaseSync(join(site.data, 'vault.db'), { readOnly: true })
    const rows = database.prepare(sql).all()
    database.close()
    return rows.map(({ bytes }) => bytes as Uint8Array)
  }
  /** In a folder of its own, where nothing else can be found. */
  const backUp = async (name: string): Promise<string> => {
    const file = join(site.path, name, 'vault.db')
    mkdirSync(dirname(file), { mode: 0o700 })
    assert.equal((await site.run(['backup', file, ...site.vault])).code, 0)
    return file
  }

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
    const unmade = join(site.path, 'unmade')
    mkdirSync(unmade)
    writeFileSync(join(unmade, 'vault.db'), '')
    assertRefused(await site.run(['backup', half, '--data', unmade]), 2, /unmade holds no vault yet$/m)
    assertRefused(
      await site.run(['backup', half, '--database-url', 'postgres://u@h/d']),
      2,
      /a vault on PostgreSQL is backed up with pg_dump/,
    )
  })

  test('C11.2 C11.3 it holds no byte of a cvc, and the cards in it are whole without', async () => {
    const card = { number: '4242424242424242', expiration_month: 12, expiration_year: 2030 }
    // Their bytes have two lengths, and fill several pages.
    const cards = Array.from({ length: 400 }, (_, n) => ({
      type: 'card',
      data: { ...card, cvc: String(n % 2 === 0 ? 100 + n : 1_000 + n) },
    }))
    const made = await call(server.url, 'POST', '/tokenize', keys.api_key ?? '', cards)
    const [{ id }] = made.body
    const codes = storedBytes('SELECT bytes FROM transients JOIN slots USING (slot)')
    const wrapped = storedBytes('SELECT bytes FROM tenant_keys JOIN slots USING (slot)')
    assert.equal(codes.length, cards.length)
    assert.equal(survivors(site.data, codes).length, codes.length, 'the search finds what is there')

    const file = await backUp('cards')
    assert.deepEqual(readdirSync(dirname(file)), ['vault.db'])
    assert.deepEqual(survivors(dirname(file), codes), [])
    assert.equal(survivors(dirname(file), wrapped).length, wrapped.length)
    const cardIn = async (url: string) =>
      (await call(url, 'GET', `/tokens/${id}`, keys.private_api_key ?? '')).body.data
    assert.deepEqual(await cardIn(server.url), { ...card, cvc: '100' })
    const restored = ['--data', dirname(file)]
    assert.deepEqual(await cardIn((await site.serve(restored)).url), card)
    const doctor = await site.run(['doctor', '--deep', ...restored, ...site.keys])
    assert.equal(doctor.stdout, `in ${dirname(file)}:\nno problems found\n`)
  })

  test('C31.7 it holds no byte of the keys of a tenant that was deleted a moment ago', async () => {
    const { tenant_id: tenant, management_api_key: management } = await site.json(
      ...['tenant', 'create', '--name', 'Y'],
    )
    const wrapped = storedBytes(`
      SELECT bytes FROM tenants JOIN tenant_keys USING (tenant) JOIN slots USING (slot) WHERE tenant_id = '${tenant}'`)
    assert.equal((await call(server.url, 'DELETE', '/tenants/self', management)).status, 204)
    const file = await backUp('tenants')
    assert.ok(wrapped.length >= 3)
    assert.deepEqual(survivors(dirname(file), wrapped), [])
  })
})
