import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { queryAt } from './citus-cluster.ts'
import { homeVariable } from './postgres-binaries.ts'
import { type Cluster, startCluster } from './postgres-cluster.ts'

/** What every node of a cluster needs. */
export const citusSettings = {
  shared_preload_libraries: 'citus',
  wal_level: 'logical',
  max_worker_processes: '50',
  max_locks_per_transaction: '256',
  'citus.node_conninfo': 'sslmode=disable',
  'citus.enable_statistics_collection': 'off',
}

/** From now on, servers of this process are of the PostgreSQL that `PG_CONFIG` names (by default the one in PATH), which has Citus. */
export const useProgramsWithCitus = (): void => {
  const bin = execFileSync(process.env.PG_CONFIG ?? 'pg_config', ['--bindir'], { encoding: 'utf8' })
  process.env[homeVariable] ??= join(bin.trim(), '..')
}

/** A server that may become a node. Nodes trust each other. */
export const startCitusServer = async (settings: Record<string, string>): Promise<Cluster> => {
  const server = await startCluster({ ...citusSettings, ...settings })
  const trusted = ['all', 'replication'].map(what => `host ${what} all 127.0.0.1/32 trust\n`)
  writeFileSync(join(server.data, 'pg_hba.conf'), trusted.join(''))
  await queryAt(server.url, 'SELECT pg_reload_conf()')
  return server
}
