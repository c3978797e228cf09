import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { emptyDatabase } from '../rig/postgres-databases.ts'
import { type Program, Site } from '../rig/program.ts'
import { freshCall } from '../serving/fresh-call.ts'
import { askBusyWorkerWithRevokedKey } from '../serving/worker-connections.ts'

describe('two workers on one database (postgres: the primary tells workers of changed grants)', () => {
  const site = new Site()
  let database: Awaited<ReturnType<typeof emptyDatabase>>
  let url: string
  let server: Program
  let keys: { management_api_key: string }
  // The system spreads connections over the workers: of twelve, both have some in all but one of two thousand runs.
  const connections = Array.from({ length: 12 }, () => new Agent({ keepAlive: true, maxSockets: 1 }))

  before(async () => {
    database = await emptyDatabase()
    const env = { STRONGROOM_DATABASE_URL: database.url }
    const provider = ['--key-provider', 'file', '--master-key-file', site.masterKeyFile]
    const args = ['--port', '0', '--workers', '2', '--log-level', 'debug']
    server = site.start(['serve', ...provider, ...args], env)
    url = JSON.parse(await server.logged('listening')).url
    const created = await site.run(['tenant', 'create', '--name', 'T', '--json', ...provider], env)
    keys = JSON.parse(created.stdout)
  })
  after(async () => {
    for (const connection of connections) connection.destroy()
    await site.remove()
    await database.drop()
  })

  test('a change of grants takes effect on both as soon as it is answered (C27.2)', async () => {
    const manager = keys.management_api_key
    const made = await freshCall(url, 'POST', '/applications', manager, {
      name: 'x',
      type: 'private',
      permissions: ['token:read'],
    })
    for (let round = 0; round < 60; round++) {
      const mayRead = round % 2 === 1
      const permissions = mayRead ? ['token:read'] : ['token:create']
      const body = { name: 'x', permissions }
      const [first] = connections
      const changed = await freshCall(url, 'PUT', `/applications/${made.body.id}`, manager, body, {}, first)
      assert.equal(changed.status, 200)
      const replies = await Promise.all(
        connections.map(agent => freshCall(url, 'GET', '/tokens', made.body.key, undefined, {}, agent)),
      )
      assert.deepEqual(
        replies.map(({ status }) => status),
        connections.map(() => (mayRead ? 200 : 403)),
        `after change ${round}`,
      )
    }
  })

  test('a worker that was busy while a key was revoked refuses it from then on (C27.2, C29.4)', async () => {
    const serving = Object.assign(server, { url })
    assert.match(await askBusyWorkerWithRevokedKey(serving, keys.management_api_key), /^HTTP\/1.1 401 /)
  })
})
