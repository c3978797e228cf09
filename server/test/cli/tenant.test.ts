import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { pace } from '../../src/domain/pace.ts'
import { inShortRun } from '../rig/long-run.ts'
import { assertRefused, call, mainFile, type Program, Site } from '../rig/program.ts'
import { sealedBytes, survivors } from '../store/survivors.ts'

const shape = ['base_url', 'tenant_id', 'api_key', 'private_api_key', 'management_api_key']
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

describe('tenants, while a server is running', () => {
  const site = new Site()
  let server: Program & { url: string }
  before(async () => {
    server = await site.serve()
  })
  after(() => site.remove())

  test('tenant create --json has the shape of dev-keys.json, with the configured address (C35.3, C34.6)', async () => {
    const made = await site.json(
      'tenant',
      'create',
      '--name',
      'Shape',
      '--host',
      '127.0.0.1',
      '--port',
      '9443',
    )
    assert.deepEqual(Object.keys(made), shape)
    assert.equal(made.base_url, 'http://127.0.0.1:9443')
    assert.match(made.tenant_id, uuid)
    const texts = shape.slice(2).map(name => made[name])
    for (const text of texts) assert.match(text, /^key_[a-z]+_[A-Za-z0-9]+$/)
    assert.equal(new Set(texts).size, 3)
  })

  test('tenant rekey seals all tokens again while the server goes on, and can be resumed (C14.4)', async () => {
    const made = await site.json('tenant', 'create', '--name', 'Rekeyed')
    const create = (data: string) =>
      call(server.url, 'POST', '/tokens', made.api_key, { type: 'token', data })
    const ids: string[] = []
    for (const data of ['a', 'b', 'c']) ids.push((await create(data)).body.id)
    const rekey = (...more: string[]) => site.run(['tenant', 'rekey', made.tenant_id, ...more, ...site.vault])
    const began = performance.now()
    const first = await rekey()
    assert.ok(
      performance.now() - began > pace.grantsHeardMs,
      'other servers have not heard of the new key yet',
    )
    assert.deepEqual(first, {
      code: 0,
      signal: null,
      stdout: `data key 2 of tenant ${made.tenant_id}: 3 tokens sealed again\n`,
      stderr: '',
    })
    assert.equal((await create('d')).status, 201)
    const resumed = await site.json('tenant', 'rekey', made.tenant_id, '--resume')
    assert.deepEqual(resumed, { data_key: 2, resealed: 0, left: 0, unreadable: 0, unreadable_rows: [] })
    for (const [at, id] of ids.entries())
      assert.equal(
        (await call(server.url, 'GET', `/tokens/${id}`, made.private_api_key)).body.data,
        'abc'[at],
      )

    const database = new DatabaseSync(join(site.data, 'vault.db'), { timeout: 5_000 })
    database.prepare('UPDATE tokens SET version = version + 1 WHERE token_id = ?').run(ids[0] ?? '')
    database.close()
    const failed = await rekey()
    assert.deepEqual(
      [failed.code, failed.stdout],
      [1, `data key 3 of tenant ${made.tenant_id}: 3 tokens sealed again\n`],
    )
    assert.equal(
      failed.stderr,
      `strongroom tenant rekey: 1 row does not open: strongroom doctor ${site.vault.join(' ')} --deep names them\n`,
    )
    const nobody = await site.run(['tenant', 'rekey', crypto.randomUUID(), ...site.vault])
    assertRefused(nobody, 1, /there is no such tenant/)
  })

  test('tenant rekey fails if it leaves a token under an older key, and says what to run (docs/keys.md)', async () => {
    const { tenant_id: id } = await site.json('tenant', 'create', '--name', 'Contended')
    // As if others had changed a token in every pass.
    const contended = site.file(
      'contended.mjs',
      `import { registerHooks } from 'node:module'
       const source = 'export const resealTokens = async () => ({ resealed: 3, left: 1, unreadable: 0, unreadableNames: [] })'
       registerHooks({
         load: (url, context, next) =>
           url.endsWith('/reseal-tokens.ts') ? { format: 'module', shortCircuit: true, source } : next(url, context),
       })`,
    )
    const { code, stdout, stderr } = await site.run(['tenant', 'rekey', id, ...site.vault], {
      NODE_OPTIONS: `--import ${contended}`,
    })
    assert.deepEqual([code, stdout], [1, `data key 2 of tenant ${id}: 3 tokens sealed again\n`])
    assert.equal(
      stderr,
      'strongroom tenant rekey: 1 token was changed by others each time: run it again with --resume\n',
    )
  })

  test('tenant rekey says so if the tenant is deleted meanwhile (C31.8)', {
    skip: inShortRun,
  }, async () => {
    const { tenant_id: id } = await site.json('tenant', 'create', '--name', 'Short-lived')
    const deletion = [mainFile, 'tenant', 'delete', id, '--yes', ...site.vault]
    // While it waits until every server knows the new key.
    const waiting = site.file(
      'waiting.mjs',
      `import { execFileSync } from 'node:child_process'
       import { syncBuiltinESMExports } from 'node:module'
       import timers from 'node:timers/promises'
       timers.setTimeout = async () => {
         execFileSync(process.execPath, ${JSON.stringify(deletion)}, { env: {} })
       }
       syncBuiltinESMExports()`,
    )
    assertRefused(
      await site.run(['tenant', 'rekey', id, ...site.vault], { NODE_OPTIONS: `--import ${waiting}` }),
      1,
      /^strongroom tenant rekey: there is no such tenant any more: strongroom tenant list --data/m,
    )
  })

  test('the operator sets what the plan of a tenant includes, and the usage report shows it (C32.4, §2.5.5)', async () => {
    const keys = await site.json('tenant', 'create', '--name', 'Plan', '--included-active', '25000')
    const get = async (path: string) => (await call(server.url, 'GET', path, keys.management_api_key)).body
    const included = async () =>
      (await get('/tenants/self/reports/usage')).token_report.included_monthly_active_tokens
    assert.equal(await included(), 25_000)
    const tenant = await get('/tenants/self')
    const update = (id: string, ...more: string[]) =>
      site.run(['tenant', 'update', id, ...more, ...site.vault])
    const { code, stdout } = await update(keys.tenant_id, '--included-active', '500')
    assert.equal(code, 0)
    assert.equal(stdout, `the plan of tenant ${keys.tenant_id} includes 500 monthly active tokens\n`)
    assert.equal(await included(), 500)
    assert.deepEqual(await get('/tenants/self'), tenant, 'nothing else is changed')

    for (const number of ['many', '1.5', '9'.repeat(16)]) {
      const create = ['tenant', 'create', '--name', 'Plan', '--included-active', number, ...site.vault]
      for (const refused of [site.run(create), update(keys.tenant_id, '--included-active', number)])
        assertRefused(await refused, 2, /--included-active must be a whole number of at most 15 digits/)
    }
    assertRefused(await update(keys.tenant_id), 2, /--included-active is missing/)
    assertRefused(
      await update('x', '--included-active', '1'),
      1,
      /there is no such tenant: strongroom tenant list --data/m,
    )
    assert.equal(await included(), 500)
  })

  test('the keys of a new tenant work at once on the running server, each for its own purpose (C35.3, C34.4)', async () => {
    const keys = await site.json('tenant', 'create', '--name', 'At once')
    const token = await call(server.url, 'POST', '/tokens', keys.api_key, { type: 'token', data: 'secret' })
    assert.equal(token.status, 201)
    const path = `/tokens/${token.body.id}`
    assert.equal((await call(server.url, 'GET', path, keys.private_api_key)).body.data, 'secret')
    const self = await call(server.url, 'GET', '/tenants/self', keys.management_api_key)
    assert.deepEqual([self.status, self.body.id, self.body.name], [200, keys.tenant_id, 'At once'])
    const { data } = (await call(server.url, 'GET', '/applications', keys.management_api_key)).body
    const creators = data.map((application: { created_by: string }) => application.created_by)
    assert.deepEqual(creators, Array(3).fill(self.body.owner_id))
    assert.equal((await call(server.url, 'GET', path, keys.api_key)).status, 403)
    assert.equal((await call(server.url, 'GET', path, keys.management_api_key)).status, 403)
    assert.equal((await call(server.url, 'GET', '/tenants/self', keys.private_api_key)).status, 403)
  })

  test('without --json, tenant create prints the same fields as text (C35.3)', async () => {
    const { code, stdout } = await site.run(['tenant', 'create', '--name', 'Reader', ...site.vault])
    assert.equal(code, 0)
    assert.deepEqual(
      stdout
        .trim()
        .split('\n')
        .map(line => line.split(/ {2,}/)[0]),
      shape,
    )
  })

  test('tenants created at the same time do not get in each other’s way (C35.3)', async () => {
    const made = await Promise.all(['a', 'b', 'c'].map(name => site.json('tenant', 'create', '--name', name)))
    const answers = await Promise.all(
      made.map(({ management_api_key }) => call(server.url, 'GET', '/tenants/self', management_api_key)),
    )
    assert.deepEqual(
      answers.map(({ body }) => body.name),
      ['a', 'b', 'c'],
    )
  })

  test('a name has 1 to 200 characters (C8.15, C8.18)', async () => {
    const create = (...name: string[]) => site.run(['tenant', 'create', ...site.vault, ...name])
    assertRefused(await create(), 2, /--name is missing/)
    assertRefused(await create('--name', ''), 2, /--name is missing/)
    assertRefused(await create('--name', '🔒'.repeat(201)), 2, /--name has at most 200 characters/)
    assert.equal((await create('--name', '🔒'.repeat(200))).code, 0)
  })

  test('tenant list shows every tenant, and with --json the tenant objects and what their plans include (C35)', async () => {
    const { tenant_id } = await site.json('tenant', 'create', '--name', 'Listed', '--included-active', '7')
    const found = (await site.json('tenant', 'list')).find(({ id }: { id: string }) => id === tenant_id)
    assert.deepEqual(Object.keys(found).sort(), [
      'created_at',
      'created_by',
      'id',
      'included_monthly_active_tokens',
      'name',
      'owner_id',
      'settings',
    ])
    assert.equal(found.included_monthly_active_tokens, 7)
    assert.deepEqual(found.settings, {
      fingerprint_tokens: 'true',
      deduplicate_tokens: 'false',
      disable_ephemeral_proxy: 'true',
    })
    const { stdout } = await site.run(['tenant', 'list', ...site.vault])
    assert.match(stdout, /^id +name +created\n/)
    assert.match(stdout, new RegExp(`^${tenant_id}  Listed +\\d{4}-`, 'm'))
  })

  test('a name is printed without the control characters that would drive a terminal (C35)', async () => {
    const { tenant_id, management_api_key } = await site.json('tenant', 'create', '--name', 'x')
    const name = 'red\u001b[31m\nsecond line\u009b2J'
    assert.equal((await call(server.url, 'PUT', '/tenants/self', management_api_key, { name })).status, 200)
    const { stdout } = await site.run(['tenant', 'list', ...site.vault])
    assert.match(stdout, new RegExp(`^${tenant_id}  red\ufffd\\[31m\ufffdsecond line\ufffd2J  `, 'm'))
  })

  test('tenant delete invalidates the keys of the tenant for the very next request, and leaves other tenants alone (C31.8, C27.2)', async () => {
    const [gone, other] = await Promise.all(
      ['gone', 'other'].map(name => site.json('tenant', 'create', '--name', name)),
    )
    const status = async (key: string) => (await call(server.url, 'GET', '/tenants/self', key)).status
    assert.equal(await status(gone.management_api_key), 200)

    const unsure = await site.run(['tenant', 'delete', gone.tenant_id, ...site.vault])
    assertRefused(unsure, 2, /add --yes to delete the tenant and everything in it/)
    assert.equal(await status(gone.management_api_key), 200)

    const sure = await site.run(['tenant', 'delete', gone.tenant_id, '--yes', ...site.vault])
    assert.deepEqual([sure.code, sure.stdout], [0, `tenant ${gone.tenant_id} is deleted from ${site.data}\n`])
    assert.equal(await status(gone.management_api_key), 401)
    assert.equal((await call(server.url, 'GET', '/tokens', gone.private_api_key)).status, 401)
    assert.equal(await status(other.management_api_key), 200)
    const left: string[] = (await site.json('tenant', 'list')).map(({ id }: { id: string }) => id)
    assert.ok(!left.includes(gone.tenant_id) && left.includes(other.tenant_id))
    const again = await site.run(['tenant', 'delete', gone.tenant_id, '--yes', ...site.vault])
    assertRefused(
      again,
      1,
      /tenant delete: there is no such tenant: strongroom tenant list( --\S+ \S+)+ shows those that there are$/m,
    )
  })
})

describe('tenants, while no server is running', () => {
  const site = new Site()
  after(() => site.remove())

  test('tenant delete removes all tokens, applications and keys of the tenant by itself (docs/running.md)', async () => {
    const server = await site.serve()
    const [gone, other] = [
      await site.json('tenant', 'create', '--name', 'gone'),
      await site.json('tenant', 'create', '--name', 'other'),
    ]
    for (const { api_key } of [gone, other])
      assert.equal(
        (await call(server.url, 'POST', '/tokens', api_key, { type: 'token', data: 'x' })).status,
        201,
      )
    server.child.kill('SIGTERM')
    await server.exited
    const tenantsIn = (table: string): number => {
      const database = new DatabaseSync(join(site.data, 'vault.db'))
      const counted = database.prepare(`SELECT count(DISTINCT tenant) AS tenants FROM ${table}`).get()
      database.close()
      return Number(counted?.tenants)
    }
    const tables = ['tenants', 'tenant_keys', 'applications', 'api_keys', 'tokens']
    assert.deepEqual(tables.map(tenantsIn), [2, 2, 2, 2, 2])
    assert.equal((await site.run(['tenant', 'delete', gone.tenant_id, '--yes', ...site.vault])).code, 0)
    assert.deepEqual(tables.map(tenantsIn), [1, 1, 1, 1, 1])
  })

  test('tenant delete overwrites the bytes of the keys while another program has the file open, and says so if it cannot because that one reads (docs/keys.md)', async () => {
    const path = join(site.data, 'vault.db')
    for (const isReading of [false, true]) {
      const { tenant_id: id } = await site.json('tenant', 'create', '--name', 'short')
      const wrapped = sealedBytes(
        site.data,
        `SELECT bytes FROM tenants JOIN tenant_keys USING (tenant) JOIN slots USING (slot) WHERE tenant_id = '${id}'`,
      )
      assert.ok(wrapped.length >= 3)
      const other = new DatabaseSync(path, { readOnly: true })
      other.exec(`BEGIN; SELECT count(*) FROM tenants; ${isReading ? '' : 'END'}`)
      const { code, stdout, stderr } = await site.run(['tenant', 'delete', id, '--yes', ...site.vault])
      const left = survivors(site.data, wrapped)
      other.close()
      assert.equal(code, 0)
      assert.match(stdout, /^tenant \S+ is deleted from [^\n]+\n$/)
      assert.equal(left.length, isReading ? wrapped.length : 0)
      assert.match(
        stderr,
        isReading
          ? /^strongroom tenant delete: its keys could not be wiped from the files yet, [^\n]+\n$/
          : /^$/,
      )
    }
  })
})

describe('commands without a vault', () => {
  const site = new Site()
  after(() => site.remove())

  test('commands say that there is no vault, and make none (C35)', async () => {
    const calls = [
      ['tenant', 'create', '--name', 'x'],
      ['tenant', 'list'],
      ['app', 'list', '--tenant', 'x'],
      ['key', 'list', '--tenant', 'x', '--app', 'y'],
    ]
    for (const args of calls)
      assertRefused(
        await site.run([...args, ...site.vault]),
        2,
        /holds no vault: strongroom migrate --data \S+ .*makes one/,
      )
    assertRefused(await site.run(['tenant', 'list']), 2, /storage is not configured/)
    assert.equal((await site.run(['migrate', ...site.vault])).code, 0)
    assertRefused(await site.run(['tenant', 'list', '--data', site.data]), 2, /no key provider is configured/)
  })
})
