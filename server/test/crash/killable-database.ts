import assert from 'node:assert/strict'
import pg from 'pg'
import { migrations } from '../../src/store/postgres/migrate.ts'
import { type Cluster, freePort, startCluster } from '../rig/postgres-cluster.ts'
import { startStandby } from '../rig/standby.ts'
import { olderSchema } from './older-schema.ts'

const password = 'password'

/** As in production: everything answered is on disk. */
const settings = { fsync: 'on', full_page_writes: 'on' }

/**
 * A PostgreSQL server that can be killed, and a place for a second one that can follow it. Each node has its own user
 * there.
 */
export class KillableDatabase {
  /** In the order in which nodes are given them. */
  readonly #ports: readonly number[]
  #primary: Cluster
  /** The server in the other place: the standby, or the former primary. */
  #other: Cluster | undefined

  private constructor(primary: Cluster, ports: readonly number[]) {
    this.#primary = primary
    this.#ports = ports
  }

  static async start(nodes: number): Promise<KillableDatabase> {
    const primary = await startCluster(settings)
    const database = new KillableDatabase(primary, [primary.port, await freePort()])
    for (let number = 0; number <= nodes; number++)
      await database.ask(`CREATE ROLE ${userOf(number)} LOGIN SUPERUSER PASSWORD '${password}'`)
    return database
  }

  environmentOf(number: number): Record<string, string> {
    const hosts = this.#ports.map(port => `127.0.0.1:${port}`).join(',')
    return { STRONGROOM_DATABASE_URL: `postgres://${userOf(number)}:${password}@${hosts}/postgres` }
  }

  async ask(sql: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(this.#primary.url)
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end().catch(() => undefined)
    }
  }

  /** The server still carries out what a dead node had sent. Resolves once nothing of it is left. */
  async hasLetGo(number: number): Promise<void> {
    await this.ask(`DO $$ BEGIN
      WHILE EXISTS (SELECT FROM pg_stat_activity WHERE usename = '${userOf(number)}') LOOP
        PERFORM pg_sleep(0.005), pg_stat_clear_snapshot();
      END LOOP;
    END $$`)
  }

  async takeSchemaBack(): Promise<void> {
    const { statements, number } = olderSchema(migrations)
    await this.ask([...statements, `DELETE FROM migrations WHERE number > ${number}`].join(';'))
  }

  /** Kills the server with all its processes. */
  async kill({ inCheckpoint }: { inCheckpoint: boolean }): Promise<void> {
    await this.#primary.kill(async () => {
      if (!inCheckpoint) return
      const begun = this.#primary.logged('checkpoint starting')
      void this.ask('CHECKPOINT').catch(() => undefined)
      await begun
    })
  }

  /** Starts it on the same folder and port. */
  startAgain(): Promise<void> {
    return this.#primary.start()
  }

  /** From now on everything answered is on two servers. */
  async addStandby(): Promise<void> {
    const port = this.#ports.find(one => one !== this.#primary.port)
    this.#other = await startStandby(this.#primary, settings, port ?? 0)
  }

  /** The primary goes in the given way, and the standby takes over once `meanwhile` is done. */
  async failOver(way: 'kill' | 'freeze', meanwhile: () => Promise<void>): Promise<void> {
    const standby = this.#other
    assert.ok(standby)
    await this.#primary[way]()
    this.#other = this.#primary
    this.#primary = standby
    await meanwhile()
    await this.ask('SELECT pg_promote()')
  }

  /** The former primary is started as if nothing had happened, and is the only server meanwhile. */
  async formerComesBack(meanwhile: () => Promise<void>): Promise<void> {
    await this.#other?.start()
    await this.#primary.kill()
    await meanwhile()
    await this.#primary.start()
  }

  async removeOther(): Promise<void> {
    await this.#other?.stop()
    this.#other = undefined
  }

  async remove(): Promise<void> {
    await this.removeOther()
    await this.#primary.stop()
  }
}

const userOf = (number: number): string => `node_${number}`
