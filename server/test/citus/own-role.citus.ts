import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { citusServers, queryAt } from '../rig/citus-cluster.ts'
import { emptyDatabase } from '../rig/postgres-databases.ts'
import { call, Site } from '../rig/program.ts'

const isSecure = citusServers.some(server => new URL(server).searchParams.get('sslmode') === 'verify-full')

describe('a vault on Citus with a role of its own', () => {
  const site = new Site()
  const role = `vault_${crypto.randomUUID().slice(0, 8)}`
  let database: Awaited<ReturnType<typeof emptyDatabase>>
  let environment: Record<string, string>
  before(async () => {
    database = await emptyDatabase()
    const [coordinator = ''] = citusServers
    const { password } = new URL(coordinator)
    const name = new URL(database.url).pathname.slice(1)
    // Citus does all of this on the workers as well.
    await queryAt(database.url, `CREATE ROLE ${role} LOGIN${password && ` PASSWORD '${password}'`}`)
    await queryAt(database.url, `ALTER DATABASE ${name} OWNER TO ${role}`)
    await queryAt(database.url, `ALTER SCHEMA public OWNER TO ${role}`)
    await queryAt(database.url, `GRANT EXECUTE ON FUNCTION recover_prepared_transactions() TO ${role}`)
    const own = new URL(database.url)
    own.username = role
    own.password = ''
    environment = {
      STRONGROOM_DATABASE_URL: own.href,
      ...(password && { STRONGROOM_DATABASE_PASSWORD_FILE: site.file('password', password) }),
      ...(isSecure && { NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS }),
    } as Record<string, string>
  })
  after(async () => {
    await site.remove()
    await database.drop()
    await queryAt(citusServers[0] ?? '', `DROP ROLE ${role}`)
    for (const server of citusServers.slice(1)) await queryAt(server, `DROP ROLE IF EXISTS ${role}`)
  })

  const onServer = (server: string): string => {
    const there = new URL(server)
    there.pathname = new URL(database.url).pathname
    return there.href
  }

  test('it distributes, serves and writes to shards as one that is no superuser, and each connection has TLS where the servers ask for it (C35.4, docs/scaling.md)', async () => {
    const distributed = await site.start(['migrate', '--distribute', ...site.keys], environment).exited
    assert.match(distributed.stdout, /, distributed\n$/, distributed.stderr)
    const made = await site.start(['tenant', 'create', '--name', 'Acme', '--json', ...site.keys], environment)
      .exited
    assert.equal(made.code, 0, made.stderr)
    const keys = JSON.parse(made.stdout)
    const { url } = await site.serve([], environment)
    const created = await call(url, 'POST', '/tokens', keys.api_key, { type: 'token', data: 'x' })
    assert.equal(created.status, 201)
    const read = await call(url, 'GET', `/tokens/${created.body.id}`, keys.private_api_key)
    assert.equal(read.body.data, 'x')
    const application = { name: 'A', type: 'private', permissions: ['token:read'] }
    assert.equal((await call(url, 'POST', '/applications', keys.management_api_key, application)).status, 201)

    const sessions = []
    let ownFunctions = 0
    for (const server of citusServers) {
      sessions.push(
        ...(await queryAt(
          onServer(server),
          `SELECT s.ssl FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid) WHERE a.usename = $1`,
          [role],
        )),
      )
      const [{ count } = {}] = await queryAt(
        onServer(server),
        "SELECT count(*) FROM pg_proc WHERE proname ~ '^apply_changes_[0-9]+$'",
      )
      ownFunctions += Number(count)
    }
    assert.ok(ownFunctions > 0, 'it writes to the tables of a shard')
    assert.ok(sessions.length > citusServers.length)
    if (isSecure) assert.ok(sessions.every(({ ssl }) => ssl === true))
  })
})
