import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { inShortRun } from '../rig/long-run.ts'
import { assertRefused, call, type Program, Site } from '../rig/program.ts'
import { assertAbsent } from '../rig/traces.ts'

describe('applications, while a server is running', () => {
  const site = new Site()
  let server: Program & { url: string }
  let tenant: { tenant_id: string; api_key: string; management_api_key: string }
  before(async () => {
    server = await site.serve()
    tenant = await site.json('tenant', 'create', '--name', 'T')
  })
  after(() => site.remove())

  const create = (...args: string[]) => [
    'app',
    'create',
    '--tenant',
    tenant.tenant_id,
    '--name',
    'A',
    ...args,
  ]

  test('with flat permissions, the printed key works at once, for those permissions and no others (C28.6, C29.6)', async () => {
    const permissions = 'token:create, token:search'
    const made = await site.json(...create('--type', 'private', '--permissions', permissions))
    assert.deepEqual([made.name, made.type, made.tenant_id], ['A', 'private', tenant.tenant_id])
    assert.deepEqual([made.permissions, made.rules], [['token:create', 'token:search'], []])
    const status = async (method: string, path: string, body?: unknown) =>
      (await call(server.url, method, path, made.key, body)).status
    assert.equal(await status('POST', '/tokens', { type: 'token', data: 1 }), 201)
    assert.equal(await status('GET', '/tokens'), 403)
    const own = await call(server.url, 'GET', '/applications/key', made.key)
    assert.equal(own.body.id, made.id)
  })

  test('rules are read from a file and apply as written (C28.6)', async () => {
    const rules = [
      {
        description: 'cards',
        priority: 1,
        container: '/pci/',
        transform: 'mask',
        permissions: ['token:read'],
      },
      { priority: 2, container: '/general/', transform: 'reveal', permissions: ['token:read'] },
    ]
    const file = site.file('rules.json', JSON.stringify(rules))
    const made = await site.json(...create('--type', 'private', '--rules', file))
    assert.deepEqual(made.rules, rules)
    const read = async (body: object) => {
      const token = await call(server.url, 'POST', '/tokens', tenant.api_key, body)
      return call(server.url, 'GET', `/tokens/${token.body.id}`, made.key)
    }
    assert.equal((await read({ type: 'token', data: 'plain' })).body.data, 'plain')
    const card = await read({ type: 'card', data: { number: '4242424242424242' } })
    assert.equal(card.body.data.number, 'XXXXXXXXXXXX4242')
  })

  test('without --json, app create prints the id and the key (C29.6)', async () => {
    const { code, stdout } = await site.run([
      ...create('--type', 'public', '--permissions', 'token:create'),
      ...site.vault,
    ])
    assert.equal(code, 0)
    assert.match(stdout, /^id +[0-9a-f-]{36}\nkey +key_\w+\n$/)
  })

  test('app list shows every application and no keys (C29.6)', async () => {
    const made = await site.json(...create('--type', 'management', '--permissions', 'report:read'))
    const listed = await site.json('app', 'list', '--tenant', tenant.tenant_id)
    const { key, ...rest } = made
    assert.deepEqual(
      listed.find(({ id }: { id: string }) => id === made.id),
      rest,
    )
    for (const name of ['general', 'private', 'management'])
      assert.ok(listed.some((application: { name: string }) => application.name === name))
    const { stdout } = await site.run(['app', 'list', '--tenant', tenant.tenant_id, ...site.vault])
    assert.match(stdout, /^id +type +name\n/)
    assert.match(stdout, new RegExp(`^${made.id}  management  A$`, 'm'))
    assertAbsent({ json: JSON.stringify(listed), stdout }, [key, 'key_'])
  })

  const rule = { priority: 1, container: '/', transform: 'mask', permissions: ['token:read'] }
  const faults: { name: string; args?: string[]; rules?: unknown; says: RegExp }[] = [
    { name: 'no type', says: /--type is missing/ },
    {
      name: 'an unknown type',
      args: ['--type', 'admin'],
      says: /--type must be one of public, private, management/,
    },
    {
      name: 'a misspelt permission',
      args: ['--type', 'private', '--permissions', 'token:create,token:reed'],
      says: /--permissions\[1\] is not a permission that a private application may hold/,
    },
    {
      name: 'a permission of another application type',
      args: ['--type', 'public', '--permissions', 'token:read'],
      says: /--permissions\[0\] is not a permission that a public application may hold/,
    },
    {
      name: 'permissions together with rules',
      args: ['--type', 'private', '--permissions', 'token:read'],
      rules: [rule],
      says: /--rules must not be given together with permissions/,
    },
    {
      name: 'rules for a management application',
      args: ['--type', 'management'],
      rules: [rule],
      says: /--rules are not for management applications/,
    },
    {
      name: 'rules that are not an array',
      args: ['--type', 'private'],
      rules: rule,
      says: /--rules must be an array/,
    },
    {
      name: 'a rule with an invalid container',
      args: ['--type', 'private'],
      rules: [rule, { ...rule, priority: 2, container: 'pci' }],
      says: /--rules\[1\]\.container /,
    },
    {
      name: 'two rules with the same priority',
      args: ['--type', 'private'],
      rules: [rule, rule],
      says: /--rules\[1\]\.priority must not be the priority of another rule/,
    },
    {
      name: 'a rule with a misspelt field',
      args: ['--type', 'private'],
      rules: [{ ...rule, transfrom: 'reveal' }],
      says: /--rules\[0\]\.transfrom is not a known field \(did you mean transform\?\)/,
    },
    {
      name: 'a fault of form, which is named before one of content',
      args: ['--type', 'private'],
      rules: [
        { ...rule, permissions: ['x'] },
        { ...rule, transform: 'reveal', priority: 'first' },
      ],
      says: / --rules\[1\]\.priority must be an integer$/m,
    },
    {
      name: 'a rules file that does not exist',
      args: ['--type', 'private', '--rules', '/nowhere.json'],
      says: /: \/nowhere\.json does not exist$/m,
    },
  ]
  for (const { name, args = [], rules, says } of faults)
    test(`app create is refused in one line that says where the fault is: ${name} (C28.1, C28.6)`, async () => {
      const file = rules === undefined ? [] : ['--rules', site.file('faulty.json', JSON.stringify(rules))]
      assertRefused(await site.run([...create(...args), ...file, ...site.vault]), 2, says)
    })

  test('app list shows more applications than one page of the API holds (C29.6)', {
    skip: inShortRun,
  }, async () => {
    const { tenant_id, management_api_key } = await site.json('tenant', 'create', '--name', 'Many')
    const wish = { name: 'A', type: 'public', permissions: ['token:create'] }
    for (let n = 0; n < 100; n++)
      assert.equal((await call(server.url, 'POST', '/applications', management_api_key, wish)).status, 201)
    assert.equal((await site.json('app', 'list', '--tenant', tenant_id)).length, 103)
  })

  test('app list reports an unknown tenant and a missing --tenant (C35)', async () => {
    assertRefused(
      await site.run(['app', 'list', '--tenant', 'x', ...site.vault]),
      1,
      /app list: there is no such tenant: strongroom tenant list --data \S+ .*shows those that there are$/m,
    )
    assertRefused(await site.run(['app', 'list', ...site.vault]), 2, /--tenant is missing/)
  })
})
