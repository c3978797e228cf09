import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { type Cluster, startCluster } from './postgres-cluster.ts'

const name = 'standby'

/** A standby that streams from this server. Once it is up, everything that the server confirms is on both. */
export const startStandby = async (
  primary: Cluster,
  settings: Record<string, string>,
  port: number,
): Promise<Cluster> => {
  const { hostname, username, password } = new URL(primary.url)
  const client = new pg.Client(primary.url)
  await client.connect()
  try {
    const primaryAddress = `host=${hostname} port=${primary.port} user=${username} password=${password}`
    const standby = await startCluster(
      { ...settings, primary_conninfo: `${primaryAddress} application_name=${name}` },
      { port, fill: data => copyServer(client, primary.data, data) },
    )
    // Set only now, so that the copy does not have the setting: as a primary it would wait for itself.
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`)
    await client.query('SELECT pg_reload_conf()')
    while (!(await isSynchronous(client))) await client.query('SELECT pg_sleep(0.005)')
    return standby
  } finally {
    await client.end()
  }
}

const isSynchronous = async (client: pg.Client): Promise<boolean> =>
  (await client.query("SELECT FROM pg_stat_replication WHERE sync_state = 'sync'")).rowCount === 1

/** A base backup while the server keeps running; the standby fetches by itself what is logged meanwhile. */
const copyServer = async (client: pg.Client, from: string, to: string): Promise<void> => {
  await client.query(`SELECT pg_backup_start('${name}', true)`)
  execFileSync('cp', ['-a', from, to])
  const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(false)')
  for (const left of ['postmaster.pid', 'pg_wal']) rmSync(join(to, left), { recursive: true })
  const { uid, gid } = statSync(from)
  const add = (path: string): void => chownSync(join(to, path), uid, gid)
  mkdirSync(join(to, 'pg_wal'), { mode: 0o700 })
  add('pg_wal')
  for (const [file, text] of [
    ['backup_label', rows[0].labelfile],
    ['standby.signal', ''],
  ]) {
    writeFileSync(join(to, file), text, { mode: 0o600 })
    add(file)
  }
}
