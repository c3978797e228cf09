import pg from 'pg'
import { migrations } from '../../src/store/postgres/migrate.ts'
import { type Cluster, startCluster } from '../rig/postgres-cluster.ts'
import { olderSchema } from './older-schema.ts'

const password = 'password'

/** A PostgreSQL server of its own, which can be killed; each node has a user of its own there. */
export class DoomedDatabase {
  readonly #cluster: Cluster

  private constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  static async start(nodes: number): Promise<DoomedDatabase> {
    // As in production: what was answered is on disk.
    const database = new DoomedDatabase(await startCluster({ fsync: 'on', full_page_writes: 'on' }))
    for (let number = 0; number <= nodes; number++)
      await database.ask(`CREATE ROLE ${userOf(number)} LOGIN SUPERUSER PASSWORD '${password}'`)
    return database
  }

  environmentOf(number: number): Record<string, string> {
    const url = new URL(this.#cluster.url)
    url.username = userOf(number)
    return { STRONGROOM_DATABASE_URL: url.href }
  }

  async ask(sql: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(this.#cluster.url)
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end().catch(() => undefined)
    }
  }

  /** What a dead node had sent is still carried out: resolves once nothing of it is left to do. */
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

  /** With all its processes. */
  async die({ inCheckpoint }: { inCheckpoint: boolean }): Promise<void> {
    await this.#cluster.kill(async () => {
      if (!inCheckpoint) return
      const begun = this.#cluster.logged('checkpoint starting')
      void this.ask('CHECKPOINT').catch(() => undefined)
      await begun
    })
  }

  /** On the same folder and port. */
  rise(): Promise<void> {
    return this.#cluster.start()
  }

  remove(): Promise<void> {
    return this.#cluster.stop()
  }
}

const userOf = (number: number): string => `node_${number}`
