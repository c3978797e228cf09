import assert from 'node:assert/strict'
import { foreignCode } from '../../src/domain/foreign-code.ts'
import { distributePostgres } from '../../src/store/postgres/postgres-store.ts'
import { joinNodes, placeInSql, queryAt } from '../rig/citus-cluster.ts'
import { citusSettings, startCitusServer, useProgramsWithCitus } from '../rig/own-citus.ts'
import { type Cluster, freePort } from '../rig/postgres-cluster.ts'
import { settingsOf } from '../rig/postgres-databases.ts'
import { startStandby } from '../rig/standby.ts'

/** As in production: everything answered is on disk. Few shards, so that the one of the tenant is often among those that move. */
const settings = {
  ...citusSettings,
  fsync: 'on',
  full_page_writes: 'on',
  'citus.shard_count': '4',
  // The vault asks for it itself.
  'citus.recover_2pc_interval': '-1',
}

export const transferModes = ['block_writes', 'force_logical'] as const

/** A coordinator and two workers of Citus, each of which can be killed, moved to another address, or get company. */
export class KillableCitus {
  readonly #coordinator: Cluster
  readonly #workers: Cluster[]

  private constructor(coordinator: Cluster, workers: Cluster[]) {
    this.#coordinator = coordinator
    this.#workers = workers
  }

  static async start(nodes: number): Promise<KillableCitus> {
    useProgramsWithCitus()
    const coordinator = await startCitusServer(settings)
    const workers = [await startCitusServer(settings), await startCitusServer(settings)]
    const citus = new KillableCitus(coordinator, workers)
    try {
      await joinNodes(citus.#servers.map(({ url }) => url))
      for (let number = 0; number <= nodes; number++)
        await citus.ask(`CREATE ROLE ${userOf(number)} LOGIN SUPERUSER`)
      await distributePostgres(settingsOf(coordinator.url))
    } catch (error) {
      await citus.remove()
      throw error
    }
    return citus
  }

  get #servers(): readonly Cluster[] {
    return [this.#coordinator, ...this.#workers]
  }

  environmentOf(number: number): Record<string, string> {
    return {
      STRONGROOM_DATABASE_URL: `postgres://${userOf(number)}@127.0.0.1:${this.#coordinator.port}/postgres`,
    }
  }

  ask(sql: string): Promise<Record<string, unknown>[]> {
    return queryAt(this.#coordinator.url, sql)
  }

  /** The servers still carry out what a dead node had sent. Resolves once nothing of it is left. */
  async hasLetGo(number: number): Promise<void> {
    for (const server of this.#servers)
      await queryAt(
        server.url,
        `DO $$ BEGIN
          WHILE EXISTS (SELECT FROM pg_stat_activity WHERE usename = '${userOf(number)}') LOOP
            PERFORM pg_sleep(0.005), pg_stat_clear_snapshot();
          END LOOP;
        END $$`,
      )
  }

  async killCoordinator(meanwhile: () => Promise<void>): Promise<void> {
    await this.#coordinator.kill()
    await meanwhile()
    await this.#coordinator.start()
  }

  /** `which`: the one that holds the tenant, or the other. */
  async killWorker(which: 'own' | 'other', meanwhile: () => Promise<void>): Promise<void> {
    const worker = await this.#workerOf(which)
    await worker.kill()
    await meanwhile()
    await worker.start()
  }

  /** The standby of the tenant's worker takes over, at another address. */
  async moveWorker(): Promise<void> {
    const worker = await this.#workerOf('own')
    const standby = await startStandby(worker, settings, await freePort())
    await worker.kill()
    await queryAt(standby.url, 'SELECT pg_promote()')
    await this.ask(
      `SELECT citus_update_node(nodeid, ${placeInSql(standby.url)}, force => true)
       FROM pg_dist_node WHERE nodeport = ${worker.port}`,
    )
    this.#workers[this.#workers.indexOf(worker)] = standby
    await worker.stop()
  }

  /** The shard of the tenant goes to the other worker, with all that lies beside it. */
  async moveShard(mode: (typeof transferModes)[number]): Promise<void> {
    const [from, to] = [await this.#workerOf('own'), await this.#workerOf('other')]
    await this.#moveShardTo(from, to, mode)
    assert.equal(await this.#workerOf('own'), to)
  }

  /** A worker joins and gets the tenant's shard, among others. */
  async addWorker(): Promise<void> {
    const added = await startCitusServer(settings)
    const from = await this.#workerOf('own')
    await queryAt(added.url, 'CREATE EXTENSION citus')
    this.#workers.push(added)
    await this.ask(`SELECT citus_add_node(${placeInSql(added.url)})`)
    await this.#command("SELECT replicate_reference_tables('force_logical')")
    await this.#moveShardTo(from, added, 'force_logical')
  }

  /** The worker that was added last gives away all that it holds, and leaves. */
  async drainWorker(mode: (typeof transferModes)[number]): Promise<void> {
    const leaving = this.#workers.at(-1)
    assert.ok(leaving && this.#workers.length > 2)
    await this.#command(`SELECT citus_drain_node(${placeInSql(leaving.url)}, '${mode}')`)
    // Otherwise Citus would look for what the worker still has once it has left, and refuse further moves of those shards.
    await this.ask('CALL citus_cleanup_orphaned_resources()')
    await this.ask(`SELECT citus_remove_node(${placeInSql(leaving.url)})`)
    this.#workers.pop()
    await leaving.stop()
  }

  async remove(): Promise<void> {
    for (const server of this.#servers) await server.stop()
  }

  /** Citus may cancel it in favour of a write that it meets, as PostgreSQL does with two transactions that wait for each other. */
  async #command(sql: string): Promise<void> {
    for (;;)
      try {
        await this.ask(sql)
        return
      } catch (error) {
        if (foreignCode(error) !== deadlock) throw error
      }
  }

  async #moveShardTo(from: Cluster, to: Cluster, mode: string): Promise<void> {
    await this.#command(
      `SELECT citus_move_shard_placement(${shardOfTenant}, ${placeInSql(from.url)}, ${placeInSql(to.url)}, '${mode}')`,
    )
  }

  async #workerOf(which: 'own' | 'other'): Promise<Cluster> {
    const [place] = await this.ask(
      `SELECT nodeport AS port FROM pg_dist_placement JOIN pg_dist_node USING (groupid) WHERE shardid = ${shardOfTenant}`,
    )
    const worker = this.#workers.find(({ port }) => (port === Number(place?.port)) === (which === 'own'))
    assert.ok(worker)
    return worker
  }
}

const deadlock = '40P01'

/** The oracle has one tenant. */
const shardOfTenant = "get_shard_id_for_distribution_column('tokens', (SELECT min(tenant) FROM tenants))"

const userOf = (number: number): string => `node_${number}`
