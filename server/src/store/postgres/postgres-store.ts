import type pg from 'pg'
import type { CommitMeters } from '../../telemetry/telemetry.ts'
import { CommitQueue } from '../commit-queue.ts'
import type { Neighbours, Store } from '../port.ts'
import { sharedReads } from '../sql/shared-reads.ts'
import { changesGrants, type WriteSet } from '../write-set.ts'
import { accessReads } from './access-reads.ts'
import { BatchWriter } from './batch-writer.ts'
import type { ConnectionSettings } from './client-config.ts'
import { Cluster } from './cluster.ts'
import { Connection } from './connection.ts'
import { counterReads } from './counter-reads.ts'
import { isDistributed } from './distribute.ts'
import { Failover } from './failover.ts'
import { unavailable } from './failures.ts'
import { GrantsWatch } from './grants-watch.ts'
import { migrate, migrateDistributed, schemaState } from './migrate.ts'
import { ReadPool } from './read-pool.ts'
import { readingSide } from './reading-side.ts'
import { resultReads } from './result-reads.ts'
import type { Sends } from './shard-writing.ts'
import { standaloneWrites } from './standalone-writes.ts'
import { tokenReads } from './token-reads.ts'
import { transactionRecovery } from './transaction-recovery.ts'
import { zeroCounters } from './zero-counters.ts'

export type PostgresSettings = ConnectionSettings & {
  /** Connections of this node: one watches grants, one makes standalone writes, up to four commit, the others read. */
  readonly poolSize: number
}

/** A transaction is sent in one message, so it sits idle only if the connection breaks. */
const usualStandstillMs = 5_000

/** Each counter is spread over this many rows. Two writers that share a row only wait for each other. */
const counterShards = 32

const serverTime = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS at'

/** The engine for many nodes: one PostgreSQL server, or several of which one takes writes. */
export const openPostgres = async (
  { poolSize, standstillMaxMs = usualStandstillMs, ...given }: PostgresSettings,
  neighbours?: Neighbours,
  meters?: CommitMeters,
): Promise<Store> => {
  const failover = new Failover()
  const isSharded = await prepare({ ...given, failover })
  const settings = { ...given, failover, plansPerValue: isSharded, standstillMaxMs }
  const standaloneConnection = new Connection(settings)
  const writers = Array.from({ length: Math.max(1, Math.min(4, Math.floor(poolSize / 3))) }, () => ({
    connection: new Connection(settings),
    counterShard: Math.floor(Math.random() * counterShards),
  }))
  const writing = writers.map(({ connection }) => connection)
  const pool = new ReadPool(settings, Math.max(1, poolSize - writers.length - 2), writing)
  const abandonAll = (): void => {
    for (const line of lines) line.abandon()
  }
  const watch = new GrantsWatch(settings, () => {
    // With one address there is no other server to try, and this one may still answer.
    if (given.address.hosts.length > 1) abandonAll()
  })
  /** Its own connection or, if the server grants no more of them, any that is open. */
  const writable = async (own: Connection): Promise<Connection> => {
    const other = (): Connection | undefined => writing.find(({ isOpen }) => isOpen) ?? pool.open
    try {
      if (own.isResting) return other() ?? own
      await own.open()
      return own
    } catch (error) {
      const open = other()
      if (open === undefined) throw error
      return open
    }
  }
  const recovery = transactionRecovery(() => writable(standaloneConnection))
  const cluster = isSharded
    ? new Cluster(settings, pool, {
        readers: Math.max(1, poolSize - writers.length),
        writers: writers.length,
        onReached: () => recovery.ask(),
      })
    : undefined
  const lines = [watch, pool, standaloneConnection, ...writing, ...(cluster ? [cluster] : [])]
  failover.onTakeover(abandonAll)
  await cluster?.start()
  /** On Citus a batch is committed where its tenant's rows are. What grants access is changed through the coordinator. */
  const lineFor = async (sets: readonly WriteSet[], position: number, own: Connection): Promise<Sends> => {
    const [first] = sets
    return cluster === undefined || first === undefined || sets.some(changesGrants)
      ? writable(own)
      : cluster.writing(first.tenant, position, () => writable(own))
  }
  const zeros = zeroCounters(() => writable(standaloneConnection))
  const queue = new CommitQueue(
    async (sets, position) => {
      const own = writers[position % writers.length]
      if (own === undefined) throw new Error('there is no such writer')
      const { counterShard } = own
      try {
        const line = await lineFor(sets, position, own.connection)
        const writer = new BatchWriter(line, { counterShard, isSharded })
        const results = await writer.commit(sets)
        zeros.lookAfter(sets)
        if (cluster !== undefined && sets.some(changesGrants) && results.some(result => 'failed' in result))
          recovery.ask()
        return results
      } catch (error) {
        if (cluster !== undefined && sets.some(changesGrants)) recovery.ask()
        throw unavailable('storage cannot be written', error)
      }
    },
    { inFlightMax: writers.length * Math.max(1, cluster?.size ?? 1), oneTenant: isSharded, meters },
  )
  await watch.start()
  neighbours?.onGrantsChanged(() => watch.changed())

  const reader = readingSide((tenant, statement, isOnShard) =>
    (isOnShard ? (cluster ?? pool) : pool).query(tenant, statement),
  )
  return {
    commit: async set => {
      const outcome = await queue.add(set)
      if (outcome.committed && changesGrants(set)) {
        // Immediate on this machine: no request that is authenticated from now on sees the old grants.
        watch.changed()
        await neighbours?.tellGrantsChanged()
      }
      return outcome
    },
    ...tokenReads(reader),
    ...counterReads(reader),
    ...accessReads(reader),
    ...sharedReads(reader),
    ...resultReads(reader),
    ...standaloneWrites(() => writable(standaloneConnection), { isSharded, drain: () => queue.drain() }),
    grantsEpoch: () => watch.epoch(),
    time: () => reader.row(serverTime, [], ({ at }) => Number(at)),
    close: async () => {
      await queue.drain()
      await zeros.settled()
      await Promise.all(lines.map(line => line.close()))
    },
  }
}

/**
 * Brings the schema up to date, which takes longer the more rows there are. Returns whether rows are spread over the
 * shards of Citus.
 */
const prepare = async (settings: ConnectionSettings): Promise<boolean> => {
  const ready = async (client: pg.Client): Promise<boolean> => {
    await migrate(client)
    return isDistributed(client)
  }
  try {
    // Only a migration may take long. A silent connection must not get the same patience.
    const isSharded = await withClient(settings, async client =>
      (await schemaState(client)).pending ? undefined : ready(client),
    )
    return isSharded ?? (await withClient({ ...settings, statementTimeoutMs: longStatementMs }, ready))
  } catch (error) {
    throw unavailable('storage cannot be opened', error)
  }
}

/** Moves rows to the nodes they belong on, which takes longer the more rows there are. */
export const distributePostgres = (settings: PostgresSettings): Promise<void> =>
  withClient({ ...settings, statementTimeoutMs: longStatementMs }, migrateDistributed)

const longStatementMs = 24 * 3_600_000

/** Runs work on one connection, before anything else is done with storage. */
export const withClient = async <T>(
  settings: ConnectionSettings,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> => {
  const opened = Promise.withResolvers<pg.Client>()
  const connection = new Connection(settings, async client => opened.resolve(client))
  try {
    await connection.query({ text: 'SELECT 1' })
    return await work(await opened.promise)
  } finally {
    await connection.close()
  }
}
