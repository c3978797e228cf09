import type { Columns } from '../columns.ts'
import type { ConnectionSettings } from './client-config.ts'
import { Connection, type QueryAnswer, type Statement } from './connection.ts'
import { endsConnection, unavailable } from './failures.ts'

/** Connections for reads. Each read is one statement, so a connection can have many under way. */
export class ReadPool {
  readonly #connections: readonly Connection[]
  readonly #spare: readonly Connection[]

  /** `spare`: connections meant for other work, used when none of the pool's is open. */
  constructor(settings: ConnectionSettings, size: number, spare: readonly Connection[]) {
    this.#connections = Array.from({ length: size }, () => new Connection(settings))
    this.#spare = spare
  }

  /** An open connection, if there is one. */
  get open(): Connection | undefined {
    return this.#connections.find(({ isOpen }) => isOpen)
  }

  /** A read has no effect, so one whose connection broke is simply repeated on an open connection. */
  async query<Row = Columns>(statement: Statement): Promise<QueryAnswer<Row>> {
    try {
      return await leastBusy(this.#connections).query<Row>(statement)
    } catch (error) {
      if (!endsConnection(error)) throw unavailable('storage cannot be read', error)
    }
    const open = [...this.#connections, ...this.#spare].filter(({ isOpen }) => isOpen)
    try {
      return await leastBusy(open.length > 0 ? open : this.#connections).query<Row>(statement)
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
}

/** A new connection is opened only when all open ones are busy. */
const leastBusy = (connections: readonly Connection[]): Connection =>
  connections.reduce((best, next) => (cost(next) < cost(best) ? next : best))

const cost = ({ inFlight, isOpen, isResting }: Connection): number =>
  inFlight + (isOpen ? 0 : isResting ? Number.MAX_SAFE_INTEGER : 0.5)
