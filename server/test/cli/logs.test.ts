import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { inShortRun } from '../rig/long-run.ts'
import { assertRefused, call, type Program, Site } from '../rig/program.ts'
import { assertAbsent } from '../rig/traces.ts'

type Line = Record<string, unknown> & { operation: string; next?: string; tenant_id: string }

const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line))
const operationsOf = (lines: readonly Line[]): string[] => lines.flatMap(({ operation }) => operation ?? [])

describe('logs, while a server is running', () => {
  const site = new Site()
  let server: Program & { url: string }
  before(async () => {
    server = await site.serve()
  })
  after(() => site.remove())

  const newTenant = async (): Promise<{ id: string; create: () => Promise<string> }> => {
    const made = await site.json('tenant', 'create', '--name', 'T')
    return {
      id: made.tenant_id,
      create: async () =>
        (await call(server.url, 'POST', '/tokens', made.api_key, { type: 'token', data: 'Canary Value' }))
          .body.id,
    }
  }
  const exported = async (...args: string[]): Promise<Line[]> => {
    const { code, stdout, stderr } = await site.run(['logs', 'export', ...args, ...site.vault])
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    return linesOf(stdout)
  }

  test('logs list shows what was done, newest first, and is recorded itself (L5.9)', async () => {
    const tenant = await newTenant()
    const ids = [await tenant.create(), await tenant.create()]
    const listed = await site.json('logs', 'list', '--tenant', tenant.id)
    assert.deepEqual(operationsOf(listed.data), ['createToken', 'createToken', 'tenant create'])
    assert.deepEqual(
      listed.data.slice(0, 2).map(({ entity_id: id }: { entity_id: string }) => id),
      ids.toReversed(),
    )
    const { stdout, stderr } = await site.run([
      ...['logs', 'list', '--tenant', tenant.id, '--size', '2', '--token-id', ids[0] ?? ''],
      ...site.vault,
    ])
    assert.equal(stderr, '')
    assert.match(stdout, /^at +operation +result +actor +about +source\n/)
    assert.match(
      stdout,
      new RegExp(`createToken +allowed +[0-9a-f-]{36} +token ${ids[0]} +127\\.0\\.0\\.1\\n$`),
    )
    assert.ok(!stdout.includes(ids[1] ?? ''))
    const own = await site.json('logs', 'list', '--tenant', tenant.id, '--operation', 'logs list')
    assert.deepEqual(operationsOf(own.data), ['logs list', 'logs list'])
    assertAbsent({ stdout, json: JSON.stringify(listed) }, ['Canary Value'])
  })

  test('logs list tells the cursor of what is older, and goes on there (L5.9)', async () => {
    const tenant = await newTenant()
    for (let index = 0; index < 3; index++) await tenant.create()
    const { stderr } = await site.run([
      ...['logs', 'list', '--tenant', tenant.id, '--size', '1', '--entity-type', 'token'],
      ...site.vault,
    ])
    const [, start = ''] = /add --start (\S+)\n$/.exec(stderr) ?? []
    const rest = await site.json(
      ...['logs', 'list', '--tenant', tenant.id, '--entity-type', 'token', '--start', start],
    )
    assert.deepEqual(operationsOf(rest.data), ['createToken', 'createToken'])
  })

  test('logs export ends with a cursor, from which the next one goes on (L5.9)', async () => {
    const tenant = await newTenant()
    const first = await exported('--tenant', tenant.id)
    assert.deepEqual(operationsOf(first), ['tenant create', 'logs export'])
    await tenant.create()
    const second = await exported('--tenant', tenant.id, '--start', first.at(-1)?.next ?? '')
    assert.deepEqual(operationsOf(second), ['createToken', 'logs export'])
  })

  test('the log of a deleted tenant is read as before, and its reading is recorded there (L3.3, L5.9, L7.2)', async () => {
    const tenant = await newTenant()
    await tenant.create()
    const deleted = await site.run(['tenant', 'delete', tenant.id, '--yes', ...site.vault])
    assert.equal(deleted.code, 0)
    const lines = await exported('--tenant', tenant.id)
    assert.deepEqual(operationsOf(lines), ['tenant create', 'createToken', 'tenant delete', 'logs export'])
    assert.ok(lines.filter(line => 'sequence' in line).every(({ tenant_id: id }) => id === tenant.id))
    const listed = await site.json('logs', 'list', '--tenant', tenant.id)
    assert.deepEqual(operationsOf(listed.data), operationsOf(lines).toReversed())
  })

  test("without --tenant, it is the operator's own log (L1.4, L5.9)", async () => {
    const secret = 'key_unknown_1111111111111111'
    assert.equal((await call(server.url, 'GET', '/tokens', secret)).status, 401)
    await site.json('tenant', 'list')
    const refusals = async (): Promise<Line[]> => exported('--result', 'denied')
    // Merged refusals of a second are stored when it is over.
    let found = await refusals()
    for (const until = Date.now() + 10_000; found.length < 2 && Date.now() < until; ) found = await refusals()
    assert.deepEqual(operationsOf(found), ['listTokens'])
    const all = await exported()
    assert.ok(operationsOf(all).includes('tenant list'))
    assert.ok(all.filter(line => 'sequence' in line).every(line => line.tenant_id === 'operator'))
    assertAbsent({ all: JSON.stringify(all) }, [secret])
  })

  test('--follow goes on with new records of all processes until SIGTERM, which ends it with a cursor (L5.10)', async () => {
    const tenant = await newTenant()
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const following = site.start([
        ...['logs', 'export', '--follow', '--tenant', tenant.id, '--entity-type', 'token'],
        ...site.vault,
      ])
      await following.line('stdout', line => line.startsWith('{"next":'))
      for (let nth = 1; nth <= 2; nth++) {
        const id = await tenant.create()
        await following.line('stdout', line => line.includes(`"entity_id":"${id}"`))
      }
      following.child.kill(signal)
      const { code, signal: killed, stderr, stdout } = await following.exited
      assert.deepEqual({ code, killed, stderr }, { code: 0, killed: null, stderr: '' })
      const lines = linesOf(stdout)
      assert.ok(lines.at(-1)?.next)
      const next = await exported(
        '--tenant',
        tenant.id,
        '--entity-type',
        'token',
        '--start',
        lines.at(-1)?.next ?? '',
      )
      assert.deepEqual(operationsOf(next), [])
    }
  })

  test('--follow ends when nobody reads it any more (L5.10)', {
    skip: inShortRun,
  }, async () => {
    const tenant = await newTenant()
    const reading = site.startShell(
      `strongroom logs export --follow --tenant ${tenant.id} ${site.vault.join(' ')} | head -n 1`,
    )
    // The first line ends `head`. What follows finds that out.
    await reading.line('stdout', () => true)
    await tenant.create()
    const { stderr } = await reading.exited
    assert.equal(stderr, '')
  })

  const faults: { name: string; args: string[]; code: 1 | 2; says: RegExp }[] = [
    {
      name: 'an unknown tenant',
      args: ['--tenant', '019ac000-0000-7000-8000-000000000000'],
      code: 1,
      says: /there is no log of such a tenant/,
    },
    { name: 'an empty tenant', args: ['--tenant='], code: 2, says: /--tenant is empty/ },
    {
      name: 'a wrong type',
      args: ['--entity-type', 'tokens'],
      code: 2,
      says: /--entity-type must be one of/,
    },
    { name: 'a wrong date', args: ['--start-date', 'x'], code: 2, says: /--start-date must be a date like/ },
    { name: 'a cursor of another log', args: ['--start', 'AAAA'], code: 2, says: /--start is not a cursor/ },
    { name: 'a wrong size', args: ['--size', '0'], code: 2, says: /--size must be a whole number/ },
  ]
  for (const { name, args, code, says } of faults)
    test(`${name} is refused in one line, by logs list and logs export (L5.9)`, async () => {
      for (const command of ['list', 'export'])
        assertRefused(await site.run(['logs', command, ...args, ...site.vault]), code, says)
    })
})

describe('app grant', () => {
  const site = new Site()
  after(() => site.remove())

  test('a management application is granted what it lacked, which is recorded before and after (L9.1)', async () => {
    const server = await site.serve()
    const { tenant_id: tenant } = await site.json('tenant', 'create', '--name', 'T')
    const made = await site.json(
      ...['app', 'create', '--tenant', tenant, '--name', 'old', '--type', 'management'],
      ...['--permissions', 'tenant:read'],
    )
    const status = async () => (await call(server.url, 'GET', '/logs/entity-types', made.key)).status
    assert.equal(await status(), 403)
    const granted = await site.json(
      ...['app', 'grant', made.id, '--tenant', tenant, '--permissions', 'log:read, tenant:read'],
    )
    assert.deepEqual(granted.permissions, ['tenant:read', 'log:read'])
    for (const until = Date.now() + 5_000; (await status()) !== 200 && Date.now() < until; );
    assert.equal(await status(), 200)
    const { data } = await site.json('logs', 'list', '--tenant', tenant, '--operation', 'app grant')
    const [{ actor_type: actor, entity_id: entity, before: had, after: has, result }] = data
    assert.deepEqual([actor, entity, result], ['operator', made.id, 'allowed'])
    assert.deepEqual([had.permissions, has.permissions], [['tenant:read'], ['tenant:read', 'log:read']])
  })

  test('the management application of a new tenant reads the log (L9.2)', async () => {
    const server = await site.serve()
    const { management_api_key: key } = await site.json('tenant', 'create', '--name', 'New')
    assert.equal((await call(server.url, 'GET', '/logs', key)).status, 200)
  })

  test('what is no management permission or no management application is refused (L9.1, C28.5)', async () => {
    const { tenant_id: tenant } = await site.json('tenant', 'create', '--name', 'T')
    const privately = await site.json(
      ...['app', 'create', '--tenant', tenant, '--name', 'p', '--type', 'private'],
    )
    const applications = await site.json('app', 'list', '--tenant', tenant)
    const management = applications.find(({ type }: { type: string }) => type === 'management').id
    const grant = (id: string, permissions: string) =>
      site.run(['app', 'grant', id, '--tenant', tenant, '--permissions', permissions, ...site.vault])
    assertRefused(await grant(privately.id, 'log:read'), 2, /only management applications/)
    assertRefused(await grant(management, 'token:read'), 2, /is not a permission that a management/)
    assertRefused(await grant(management, 'logs:read'), 2, /did you mean log:read/)
    assertRefused(await grant('nobody', 'log:read'), 1, /no such application/)
    const { data } = await site.json('logs', 'list', '--tenant', tenant, '--operation', 'app grant')
    assert.deepEqual(
      data.map(({ result }: { result: string }) => result),
      ['failed', 'failed', 'failed', 'failed'],
    )
  })
})
