import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { assertRefused, call, type Program, type Result, Site } from '../rig/program.ts'
import { assertAbsent } from '../rig/traces.ts'

describe('keys, while a server is running', () => {
  const site = new Site()
  let server: Program & { url: string }
  let place: string[]
  let management: string[]
  before(async () => {
    server = await site.serve()
    const { tenant_id } = await site.json('tenant', 'create', '--name', 'T')
    const applications: { id: string; name: string }[] = await site.json('app', 'list', '--tenant', tenant_id)
    const placeOf = (wanted: string) => {
      const found = applications.find(({ name }) => name === wanted)
      assert.ok(found)
      return ['--tenant', tenant_id, '--app', found.id]
    }
    place = placeOf('private')
    management = placeOf('management')
  })
  after(() => site.remove())

  const status = async (key: string): Promise<number> =>
    (await call(server.url, 'GET', '/applications/key', key)).status
  const revoke = (id: string, where = place): Promise<Result> =>
    site.run(['key', 'revoke', id, ...where, ...site.vault])

  test('a key works at once, is listed without its text and, once revoked, is refused on the very next request (C29.4, C29.6, C27.2)', async () => {
    const [one, other] = [
      await site.json('key', 'create', ...place),
      await site.json('key', 'create', ...place),
    ]
    assert.deepEqual(Object.keys(one).sort(), ['created_at', 'created_by', 'id', 'key'])
    assert.deepEqual([await status(one.key), await status(other.key)], [200, 200])

    const listed = await site.json('key', 'list', ...place)
    const { stdout } = await site.run(['key', 'list', ...place, ...site.vault])
    assert.equal(listed.length, 3)
    assert.match(stdout, /^id +created +expires +last used\n/)
    assert.match(stdout, new RegExp(`^${one.id}  \\S+  - `, 'm'))
    assertAbsent({ json: JSON.stringify(listed), stdout }, [one.key, other.key, 'key_'])

    const revoked = await revoke(one.id)
    assert.deepEqual([revoked.code, revoked.stdout], [0, `key ${one.id} is revoked\n`])
    assert.equal(await status(one.key), 401)
    assert.equal(await status(other.key), 200)
    assertRefused(await revoke(one.id), 1, /the tenant has no such application or key/)
  })

  test('without --json, key create prints the id and the key (C29.6)', async () => {
    const { code, stdout } = await site.run(['key', 'create', ...place, ...site.vault])
    assert.equal(code, 0)
    assert.match(stdout, /^id +[0-9a-f-]{36}\nkey +key_\w+\n$/)
  })

  test('a key can have an expiry, which must be in the future (C29.7)', async () => {
    const made = await site.json('key', 'create', ...place, '--expires-at', '2120-01-01T00:00:00Z')
    assert.equal(made.expires_at, '2120-01-01T00:00:00.000+00:00')
    const { stdout } = await site.run(['key', 'list', ...place, ...site.vault])
    assert.match(stdout, new RegExp(`^${made.id} .*2120-01-01T00:00:00\\.000\\+00:00`, 'm'))
    const wrong: [string, RegExp][] = [
      ['2020-01-01', /key create: --expires-at must lie in the future$/m],
      ['tomorrow', /key create: --expires-at must be a date like 2030-12-31, /],
    ]
    for (const [end, says] of wrong)
      assertRefused(await site.run(['key', 'create', ...place, '--expires-at', end, ...site.vault]), 2, says)
  })

  test('last_used_at is stored by the time the server that saw the key has stopped (C29.7)', async () => {
    const { id, key } = await site.json('key', 'create', ...place)
    assert.equal(await status(key), 200)
    server.child.kill('SIGTERM')
    await server.exited
    const listed: { id: string; last_used_at?: string }[] = await site.json('key', 'list', ...place)
    assert.match(listed.find(found => found.id === id)?.last_used_at ?? '', /^\d{4}-/)
    server = await site.serve()
  })

  test('the last management key cannot be revoked (C2.18)', async () => {
    const [only] = await site.json('key', 'list', ...management)
    assertRefused(
      await revoke(only.id, management),
      1,
      /key revoke: this is the last management key of the tenant; create another one first$/m,
    )
    const next = await site.json('key', 'create', ...management)
    assert.equal((await revoke(only.id, management)).code, 0)
    assert.equal(await status(next.key), 200)
  })

  test('one key too many is refused in one line (C8.17)', async () => {
    const flags = [...place, ...site.vault, '--limits', 'liveKeysPerApplication=2']
    assertRefused(
      await site.start(['key', 'create', ...flags]).exited,
      2,
      /key create: the application has 2 live keys already; revoke one first$/m,
    )
  })

  test('key list reports a missing option and an unknown tenant or application (C35)', async () => {
    const [, tenant = ''] = place
    const list = (...args: string[]) => site.run(['key', 'list', ...args, ...site.vault])
    assertRefused(await list(), 2, /--tenant is missing/)
    assertRefused(await list('--tenant', tenant), 2, /--app is missing/)
    assertRefused(
      await list('--tenant', 'x', '--app', 'y'),
      1,
      /key list: there is no such tenant: strongroom tenant list --data/m,
    )
    assertRefused(await list('--tenant', tenant, '--app', 'y'), 1, /no such application or key/)
  })
})
