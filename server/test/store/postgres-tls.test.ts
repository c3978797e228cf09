import assert from 'node:assert/strict'
import { chownSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { StoreUnavailableError } from '../../src/store/port.ts'
import { openPostgres } from '../../src/store/postgres/postgres-store.ts'
import { certificate } from '../rig/certificates.ts'
import { type Cluster, startCluster } from '../rig/postgres-cluster.ts'
import { settingsOf } from '../rig/postgres-databases.ts'

describe('TLS to the database (postgres)', () => {
  const ca = certificate('an authority')
  const own = certificate('localhost', ca)
  let cluster: Cluster
  let admin: pg.Client
  before(async () => {
    cluster = await startCluster()
    const data = join(cluster.folder, 'data')
    const { uid, gid } = statSync(data)
    for (const [name, text] of [
      ['server.crt', own.cert],
      ['server.key', own.key],
    ] as const) {
      writeFileSync(join(data, name), text, { mode: 0o600 })
      chownSync(join(data, name), uid, gid)
    }
    admin = new pg.Client(cluster.url)
    await admin.connect()
    await admin.query('ALTER SYSTEM SET ssl = on')
    await admin.query('SELECT pg_reload_conf()')
    // The server reloads its settings in its own time; this connection learns of it with its next query.
    while ((await admin.query('SHOW ssl')).rows[0]?.ssl !== 'on');
  })
  after(async () => {
    await admin.end()
    await cluster.stop()
  })

  const open = (mode: string, authority?: string) =>
    openPostgres({
      ...settingsOf(`${cluster.url}?sslmode=${mode}`),
      ...(authority !== undefined && { ca: authority }),
    })
  /** How many connections of ours are open, and how many of them are encrypted. */
  const connections = async () =>
    (
      await admin.query(
        `SELECT count(*)::int AS open, count(*) FILTER (WHERE s.ssl)::int AS sealed
         FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid) WHERE a.application_name = 'strongroom'`,
      )
    ).rows[0]

  for (const [mode, authority] of [
    ['verify-full', ca.cert],
    ['verify-ca', ca.cert],
    ['require', undefined],
    ['require', ca.cert],
  ] as const)
    test(`${mode}${authority === undefined ? '' : ' with an authority'}: every connection of a store is encrypted (C35.4)`, async () => {
      const store = await open(mode, authority)
      try {
        await store.health()
        const { open: all, sealed } = await connections()
        assert.ok(all > 0)
        assert.equal(sealed, all)
      } finally {
        await store.close()
      }
    })

  for (const [what, mode, authority] of [
    ['from an authority that was not configured', 'verify-full', undefined],
    ['from another authority', 'verify-full', certificate('another authority').cert],
    ['from another authority', 'verify-ca', certificate('another authority').cert],
    ['from another authority', 'require', certificate('another authority').cert],
  ] as const)
    test(`${mode}: a server with a certificate ${what} is refused (C35.4)`, () =>
      assert.rejects(open(mode, authority), StoreUnavailableError))
})
