import type { Columns } from '../columns.ts'
import { type Answer, Connection, type ConnectionSettings, type Statement } from './connection.ts'
import { endsConnection, unavailable } from './failures.ts'

/** Connections for reads. Each is one statement, so many can be under way on one connection. */
export class ReadPool {
  readonly #connections: readonly Connection[]

  constructor(settings: ConnectionSettings, size: number) {
    this.#connections = Array.from({ length: size }, () => new Connection(settings))
  }

  /** A read has no effect, so one whose connection broke is simply asked again. */
  async query<Row = Columns>(statement: Statement): Promise<Answer<Row>> {
    try {
      return await this.#pick().query<Row>(statement)
    } catch (error) {
      if (!endsConnection(error)) throw unavailable('storage cannot be read', error)
    }
    try {
      return await this.#pick().query<Row>(statement)
    } catch (error) {
      throw unavailable('storage cannot be read', error)
    }
  }

  abandon(): void {
    for (const connection of this.#connections) connection.abandon()
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map(connection => connection.close()))
  }

  /** The least busy one; a new one is opened only when all open ones are busy. */
  #pick(): Connection {
    return this.#connections.reduce((best, next) => (cost(next) < cost(best) ? next : best))
  }
}

const cost = ({ inFlight, isOpen }: Connection): number => (isOpen ? inFlight : inFlight + 0.5)
