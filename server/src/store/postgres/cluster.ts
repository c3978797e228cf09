import type { ConnectionSettings } from './client-config.ts'
import { Connection, type QueryAnswer, type Statement } from './connection.ts'
import { Failover } from './failover.ts'
import { MovedError, ReadPool } from './read-pool.ts'

/** A server that holds rows of tenants. */
type Place = { readonly reads: ReadPool; readonly writing: readonly Connection[] }

/** How often it is asked where shards are. Whoever still asks the former place of a shard is answered as well, only more slowly. */
const lookEveryMs = 2_000
const tenantsRemembered = 100_000

/** Nodes without metadata of their own cannot find a tenant's rows. The coordinator (group 0) has connections already. */
const shardPlaces = `
  SELECT s.shardid::text AS shard, groupid AS node_group, n.nodename AS host, n.nodeport AS port,
    array(SELECT part.logicalrelid::text FROM pg_dist_shard part JOIN pg_dist_partition whole USING (logicalrelid)
      WHERE part.shardminvalue = s.shardminvalue AND whole.colocationid = tokens.colocationid ORDER BY 1) AS names,
    array(SELECT shard_name(part.logicalrelid, part.shardid)
      FROM pg_dist_shard part JOIN pg_dist_partition whole USING (logicalrelid)
      WHERE part.shardminvalue = s.shardminvalue AND whole.colocationid = tokens.colocationid
      ORDER BY part.logicalrelid::text) AS tables
  FROM pg_dist_partition tokens JOIN pg_dist_shard s USING (logicalrelid)
  JOIN pg_dist_placement p USING (shardid) JOIN pg_dist_node n USING (groupid)
  WHERE tokens.logicalrelid = 'tokens'::regclass AND n.noderole = 'primary' AND n.isactive AND n.hasmetadata
    AND n.metadatasynced AND n.groupid <> 0`
/** As this node knows it, which learns of a move no later than it would pass a statement on. */
const isShardHere =
  'SELECT FROM pg_dist_placement WHERE shardid = $1::bigint AND groupid = $2::int AND shardstate = 1'
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
  /** Of which shard each tenant is. */
  readonly #shardOf = new Map<number, string>()
  #places = new Map<string, Place>()
  #shardById = new Map<string, Shard>()
  #looking: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(
    settings: ConnectionSettings,
    coordinator: ReadPool,
    { readers, writers }: { readonly readers: number; readonly writers: number },
  ) {
    this.#settings = settings
    this.#coordinator = coordinator
    this.#readers = readers
    this.#writers = writers
  }

  async start(): Promise<void> {
    await this.#look()
    this.#timer = setInterval(() => void this.#look().catch(() => {}), lookEveryMs).unref()
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
    const shard = await this.#shard(tenant)
    if (shard === undefined) return this.#coordinator.query<Row>(tenant, statement)
    const { reads } = shard.place
    try {
      const options = { kind: statement.name, check: shard.check }
      return await reads.query<Row>(tenant, shard.own(statement), options)
    } catch (error) {
      if (reads.open !== undefined && !(error instanceof MovedError)) throw error
      void this.#look().catch(() => {})
      return this.#coordinator.query<Row>(tenant, statement)
    }
  }

  /** A connection that writes where the tenant's rows are; `position` chooses among several. */
  async writing(tenant: number, position: number): Promise<Connection | undefined> {
    const place = (await this.#shard(tenant))?.place
    const connection = place?.writing[position % place.writing.length]
    try {
      await connection?.open()
      return connection
    } catch {
      return undefined
    }
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

  async #shard(tenant: number): Promise<Shard | undefined> {
    const id = this.#shardOf.get(tenant) ?? (await this.#findShard(tenant))
    const shard = this.#shardById.get(id)
    // It may have been split since.
    if (shard === undefined) this.#shardOf.delete(tenant)
    return shard
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

  #look(): Promise<void> {
    this.#looking ??= this.#findPlaces().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #findPlaces(): Promise<void> {
    const { rows } = await this.#coordinator.query<ShardRow>(0, { name: 'shard-places', text: shardPlaces })
    const places = new Map<string, Place>()
    const shards = new Map<string, Shard>()
    for (const row of rows) {
      const { shard: id, host, port } = row
      const name = `${host}:${port}`
      const place = places.get(name) ?? this.#places.get(name) ?? this.#connect(host, port)
      places.set(name, place)
      const known = this.#shardById.get(id)
      shards.set(id, known?.place === place ? known : new Shard(row, place))
    }
    const former = [...this.#places].filter(([name]) => !places.has(name))
    this.#places = places
    this.#shardById = shards
    for (const [, place] of former) void leave(place)
  }

  #connect(host: string, port: number): Place {
    const { address } = this.#settings
    const settings = {
      ...this.#settings,
      address: { ...address, hosts: [{ host, port }] },
      failover: new Failover(),
    }
    const writing = Array.from({ length: this.#writers }, () => new Connection(settings))
    // What reads a shard's own tables needs no plan for each value.
    const reading = { ...settings, plansPerValue: false }
    return { reads: new ReadPool(reading, this.#readers, []), writing }
  }
}

const leave = async ({ reads, writing }: Place): Promise<void> => {
  await Promise.all([reads, ...writing].map(line => line.close()))
}

type ShardRow = {
  readonly shard: string
  readonly node_group: number
  readonly host: string
  readonly port: number
  readonly names: string
  readonly tables: string
}

/** Some tenants' rows: where they are, and what the tables are called there. */
class Shard {
  readonly place: Place
  /** Whether they are still there. */
  readonly check: Statement
  readonly #id: string
  readonly #tables: ReadonlyMap<string, string>
  /** By the text for the whole. Only texts with names are kept, of which there are not many (reading-side.ts). */
  readonly #texts = new Map<string, string>()

  constructor({ shard, node_group, names, tables }: ShardRow, place: Place) {
    const own = itemsOf(tables)
    this.place = place
    this.check = { name: 'is-shard-here', text: isShardHere, values: [shard, node_group] }
    this.#id = shard
    this.#tables = new Map(itemsOf(names).map((name, index) => [name, own[index] ?? name]))
  }

  /** The statement for the shard's own tables. */
  own(statement: Statement): Statement {
    const { text, name } = statement
    if (name === undefined) return { ...statement, text: this.#renamed(text) }
    const known = this.#texts.get(text) ?? this.#renamed(text)
    this.#texts.set(text, known)
    return { ...statement, text: known, name: `${name} ${this.#id}` }
  }

  #renamed(text: string): string {
    return text.replaceAll(
      /\b(FROM|JOIN) (\w+)/g,
      (_all, word: string, name: string) => `${word} ${this.#tables.get(name) ?? name}`,
    )
  }
}

/** An array of names, as the server writes it. */
const itemsOf = (array: string): string[] => array.slice(1, -1).split(',')
