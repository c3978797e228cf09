import type { ConnectionSettings } from './client-config.ts'
import { Connection, type QueryAnswer, type Statement } from './connection.ts'
import { Failover } from './failover.ts'
import { ReadPool } from './read-pool.ts'
import { isMoved, Shard, type ShardRow } from './shard.ts'
import { type Sends, ShardWriting } from './shard-writing.ts'

/** A server that holds rows of tenants. */
type Place = { readonly reads: ReadPool; readonly writing: readonly Connection[] }

type PlacedShard = { readonly shard: Shard; readonly place: Place }

/** How often it is asked where shards are. Whoever still asks the former place of a shard is answered as well, only more slowly. */
const lookEveryMs = 2_000
const tenantsRemembered = 100_000

/**
 * Nodes without metadata of their own cannot find a tenant's rows. The coordinator (group 0) has connections already. If Citus keeps
 * a shard twice, it must write both.
 */
const shardPlaces = `
  SELECT s.shardid::text AS shard, groupid AS node_group, n.nodename AS host, n.nodeport AS port,
    array(SELECT part.logicalrelid::text FROM pg_dist_shard part JOIN pg_dist_partition whole USING (logicalrelid)
      WHERE part.shardminvalue = s.shardminvalue AND whole.colocationid = tokens.colocationid ORDER BY 1) AS names,
    array(SELECT shard_name(part.logicalrelid, part.shardid)
      FROM pg_dist_shard part JOIN pg_dist_partition whole USING (logicalrelid)
      WHERE part.shardminvalue = s.shardminvalue AND whole.colocationid = tokens.colocationid
      ORDER BY part.logicalrelid::text) AS tables,
    (SELECT shard_name(logicalrelid, shardid) FROM pg_dist_shard WHERE logicalrelid = 'tenants'::regclass) AS tenants
  FROM pg_dist_partition tokens JOIN pg_dist_shard s USING (logicalrelid)
  JOIN pg_dist_placement p USING (shardid) JOIN pg_dist_node n USING (groupid)
  WHERE tokens.logicalrelid = 'tokens'::regclass AND n.noderole = 'primary' AND n.isactive AND n.hasmetadata
    AND n.metadatasynced AND n.groupid <> 0
    AND (SELECT count(*) FROM pg_dist_placement copies WHERE copies.shardid = s.shardid) = 1`
const shardOfTenant = `SELECT get_shard_id_for_distribution_column('tokens', $1::bigint)::text AS shard`

/**
 * The nodes of a Citus cluster that hold tenants' rows, and connections to each. What concerns one tenant is sent to the node that
 * holds it, which answers without asking another. Any node can answer for any tenant by passing statements on, so an old idea of
 * where a tenant is costs time and nothing else.
 */
export class Cluster {
  readonly #settings: ConnectionSettings
  readonly #coordinator: ReadPool
  readonly #readers: number
  readonly #writers: number
  /** Called when a node is reached for the first time, or again. */
  readonly #onReached: () => void
  /** Of which shard each tenant is. */
  readonly #shardOf = new Map<number, string>()
  #places = new Map<string, Place>()
  #shardById = new Map<string, PlacedShard>()
  #looking: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(
    settings: ConnectionSettings,
    coordinator: ReadPool,
    {
      readers,
      writers,
      onReached,
    }: { readonly readers: number; readonly writers: number; readonly onReached: () => void },
  ) {
    this.#settings = settings
    this.#coordinator = coordinator
    this.#readers = readers
    this.#writers = writers
    this.#onReached = onReached
  }

  async start(): Promise<void> {
    await this.#look()
    this.#timer = setInterval(() => this.#lookSoon(), lookEveryMs).unref()
  }

  /** How many nodes hold tenants' rows. */
  get size(): number {
    return this.#places.size
  }

  /**
   * Reads a tenant's rows from the tables that hold them, because through Citus a look-up costs the node four times as much. If they
   * were moved away or the node is gone, the coordinator knows where they are.
   */
  async query<Row>(tenant: number, statement: Statement): Promise<QueryAnswer<Row>> {
    const found = await this.#find(tenant)
    if (found === undefined) return this.#coordinator.query<Row>(tenant, statement)
    const { shard, place } = found
    try {
      return await place.reads.query<Row>(tenant, shard.reading(statement), statement.name)
    } catch (error) {
      if (place.reads.open !== undefined && !isMoved((error as Error).cause)) throw error
      this.#lookSoon()
      return this.#coordinator.query<Row>(tenant, statement)
    }
  }

  /** Writes where the tenant's rows are, or through the coordinator; `position` chooses among several connections. */
  async writing(tenant: number, position: number, coordinator: () => Promise<Sends>): Promise<Sends> {
    const found = await this.#find(tenant)
    const { writing = [] } = found?.place ?? {}
    const connection = writing[position % writing.length]
    if (found === undefined || connection === undefined) return coordinator()
    return new ShardWriting(connection, found.shard, () => {
      this.#lookSoon()
      return coordinator()
    })
  }

  abandon(): void {
    for (const { reads, writing } of this.#places.values())
      for (const line of [reads, ...writing]) line.abandon()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking?.catch(() => {})
    await Promise.all([...this.#places.values()].map(leave))
  }

  async #find(tenant: number): Promise<PlacedShard | undefined> {
    const id = this.#shardOf.get(tenant) ?? (await this.#findShard(tenant))
    const found = this.#shardById.get(id)
    // It may have been split since.
    if (found === undefined) this.#shardOf.delete(tenant)
    return found
  }

  async #findShard(tenant: number): Promise<string> {
    const { rows } = await this.#coordinator.query<{ shard: string }>(tenant, {
      name: 'shard-of-tenant',
      text: shardOfTenant,
      values: [tenant],
    })
    const shard = rows[0]?.shard ?? ''
    const [oldest] = this.#shardOf.keys()
    if (oldest !== undefined && this.#shardOf.size >= tenantsRemembered) this.#shardOf.delete(oldest)
    this.#shardOf.set(tenant, shard)
    return shard
  }

  #lookSoon(): void {
    void this.#look().catch(() => {})
  }

  #look(): Promise<void> {
    this.#looking ??= this.#findPlaces().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #findPlaces(): Promise<void> {
    const { rows } = await this.#coordinator.query<ShardRow>(0, { name: 'shard-places', text: shardPlaces })
    const places = new Map<string, Place>()
    const shards = new Map<string, PlacedShard>()
    for (const row of rows) {
      const { shard: id, host, port } = row
      const name = `${host}:${port}`
      const place = places.get(name) ?? this.#places.get(name) ?? this.#connect(host, port)
      places.set(name, place)
      const known = this.#shardById.get(id)
      shards.set(id, known?.place === place ? known : { shard: new Shard(row), place })
    }
    const former = [...this.#places].filter(([name]) => !places.has(name))
    this.#places = places
    this.#shardById = shards
    for (const [, place] of former) void leave(place)
    // So that a node that is back is noticed, whether or not anybody asks for its tenants.
    for (const { writing } of places.values()) writing[0]?.open().catch(() => {})
  }

  #connect(host: string, port: number): Place {
    const { address } = this.#settings
    const settings = {
      ...this.#settings,
      address: { ...address, hosts: [{ host, port }] },
      failover: new Failover(),
    }
    const writing = Array.from(
      { length: this.#writers },
      () => new Connection({ ...settings, writesShards: true }, async () => this.#onReached()),
    )
    // What reads a shard's own tables needs no plan for each value.
    const reading = { ...settings, plansPerValue: false }
    return { reads: new ReadPool(reading, this.#readers, []), writing }
  }
}

const leave = async ({ reads, writing }: Place): Promise<void> => {
  await Promise.all([reads, ...writing].map(line => line.close()))
}
