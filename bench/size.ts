import pg from 'pg'
import { startCluster } from '../server/test/rig/postgres-cluster.ts'
import { childrenCpuMicroseconds, cpuMicroseconds, parentOf } from './cpu-time.ts'
import type { RequestKind } from './load.ts'
import { loadServed, type Served, startServed } from './served.ts'

const cards = Number(process.env.BENCH_CARDS ?? 100_000)

/**
 * `size`: how many bytes a card takes on PostgreSQL, on disk with all indexes and in the log, and what a request costs
 * there in processor time of the node and of the database server.
 */
export const benchSize = async (): Promise<void> => {
  const cluster = await startCluster({
    fsync: 'on',
    full_page_writes: 'on',
    shared_buffers: '128MB',
    autovacuum: 'on',
  })
  const client = new pg.Client(cluster.url)
  try {
    const vault = await startServed(1, cluster.url)
    await client.connect()
    const ask = async (sql: string): Promise<number> => Number((await client.query(sql)).rows[0]?.n)
    const postmaster = parentOf(await ask('SELECT pg_backend_pid() AS n')) ?? 0
    const written = () => ask("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS n")
    const stored = () => ask(relationSizes)

    const before = { log: await written(), disk: await stored() }
    const costs: Cost[] = []
    let made = 0
    while (made < cards) {
      const cost = await costOf(vault, postmaster, 'create')
      made += cost.requests
      costs.push(cost)
    }
    const log = ((await written()) - before.log) / made
    console.log(`${made} cards: ${Math.round(log)} bytes of log each`)
    const perCard = async (): Promise<number> => Math.round(((await stored()) - before.disk) / made)
    console.log(`bytes on disk per card: ${await perCard()}`)
    const parts = await client.query(largestRelations, [made])
    console.table(parts.rows)
    await client.query('REINDEX DATABASE')
    console.log(`bytes on disk per card, indexes built anew: ${await perCard()}`)

    console.table([
      summary('create a card', costs),
      summary('the same, deduplicated, with a metadata key', [
        await costOf(vault, postmaster, 'deduplicated'),
      ]),
      summary('get with reveal', [await costOf(vault, postmaster, 'get')]),
      summary('list, a page of 20', [await costOf(vault, postmaster, 'pages')]),
    ])
    await vault.stop()
  } finally {
    await client.end()
    await cluster.stop()
  }
}

/** The vault's tables, with their indexes. */
const relationSizes = `SELECT sum(pg_total_relation_size(oid)) AS n FROM pg_class
  WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`

/** Tables and indexes that take more than a byte of a card. */
const largestRelations = `SELECT relname AS relation, round(pg_relation_size(oid) / $1::numeric, 1)::float AS "bytes per card"
  FROM pg_class WHERE relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > $1 ORDER BY relname`

type Cost = {
  readonly requests: number
  readonly seconds: number
  readonly node: number
  readonly server: number
}

const costOf = async (vault: Served, postmaster: number, kind: RequestKind): Promise<Cost> => {
  const cpu = () => ({ node: cpuMicroseconds(vault.pid), server: childrenCpuMicroseconds(postmaster) })
  const before = cpu()
  const { requests, seconds } = await loadServed(vault, kind)
  const after = cpu()
  return { requests, seconds, node: after.node - before.node, server: after.server - before.server }
}

const summary = (request: string, costs: readonly Cost[]) => {
  const sum = (field: keyof Cost): number => costs.reduce((total, cost) => total + cost[field], 0)
  const per = (field: 'node' | 'server'): string => (sum(field) / sum('requests')).toFixed(0)
  return {
    request,
    'per second': (sum('requests') / sum('seconds')).toFixed(0),
    'µs of the node': per('node'),
    'µs of the database': per('server'),
  }
}
