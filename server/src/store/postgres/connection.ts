import type { Duplex } from 'node:stream'
import pg from 'pg'
import type { Columns } from '../columns.ts'
import { StoreUnavailableError } from '../port.ts'
import { type ConnectionSettings, clientConfig } from './client-config.ts'
import { closeOnUnreadable } from './close-on-unreadable.ts'
import { Failover } from './failover.ts'
import { endsConnection } from './failures.ts'

export type QueryAnswer<Row = Columns> = {
  readonly command: string
  readonly rowCount: number | null
  readonly rows: readonly Row[]
}

/** `name` makes the server keep the plan. */
export type Statement = {
  readonly text: string
  readonly values?: readonly unknown[]
  readonly name?: string
  readonly rowMode?: 'array'
  /** A read that may bring many bytes. */
  readonly isLong?: boolean
}

/** How long a server has to close a connection. A silent server never closes it. */
const leaveMs = 1_000
/** A connection that could not be opened is not tried again for this long while others are open. */
const restMs = 500
/**
 * This much is read from a server before others get the event loop. Answers are parsed as they come, which takes some 5 ms for a
 * megabyte, and the loop would go on reading for as long as there is something to read.
 */
const readAtOnceBytes = 1 << 18
/** Bounds how many statements wait on a connection whose server hangs. */
const inFlightMax = 1_000

/**
 * A connection that opens when needed, and again after it was lost. Statements are sent without waiting for earlier
 * answers; each is its own transaction unless it says otherwise.
 */
export class Connection {
  readonly #settings: ConnectionSettings
  readonly #failover: Failover
  readonly #onOpen: (client: pg.Client) => Promise<unknown>
  #client: Promise<pg.Client> | undefined
  #opened: pg.Client | undefined
  #isClosed = false
  #inFlight = 0
  #restsUntil = Number.NEGATIVE_INFINITY

  constructor(
    settings: ConnectionSettings,
    onOpen: (client: pg.Client) => Promise<unknown> = async () => {},
  ) {
    this.#settings = settings
    this.#failover = settings.failover ?? new Failover()
    this.#onOpen = onOpen
  }

  get isOpen(): boolean {
    return this.#opened !== undefined
  }

  /** What lasts until the connection is lost: prepared statements, and functions of its own. */
  get session(): object | undefined {
    return this.#opened
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** The last attempt to open it failed a moment ago: the server may have run out of connections. */
  get isResting(): boolean {
    return !this.isOpen && performance.now() < this.#restsUntil
  }

  /** Throws if the connection cannot be opened. Then nothing was sent. */
  async open(): Promise<void> {
    await this.#openClient()
  }

  async query<Row = Columns>(statement: Statement): Promise<QueryAnswer<Row>> {
    const [answer] = await this.send<Row>([statement])
    if (answer?.status !== 'fulfilled') throw answer?.reason
    return answer.value
  }

  /** Sends all statements at once and resolves when all are answered. */
  async send<Row = Columns>(
    statements: readonly Statement[],
  ): Promise<PromiseSettledResult<QueryAnswer<Row>>[]> {
    if (this.#inFlight + statements.length > inFlightMax + 1)
      throw new StoreUnavailableError('too much waits for storage', { outage: 'too much waits for storage' })
    this.#inFlight += statements.length
    try {
      const client = await this.#openClient()
      const answers = await Promise.allSettled(statements.map(statement => client.query(statement as never)))
      for (const answer of answers)
        if (answer.status === 'rejected' && endsConnection(answer.reason)) this.#drop(client)
      return answers as PromiseSettledResult<QueryAnswer<Row>>[]
    } finally {
      this.#inFlight -= statements.length
    }
  }

  /** Callers still waiting for the server are told that no answer came. */
  abandon(): void {
    const client = this.#opened
    this.#forget(client)
    client?.connection.stream.destroy()
  }

  /** Lets requests under way finish first. */
  async close(): Promise<void> {
    this.#isClosed = true
    const client = await this.#client?.catch(() => undefined)
    this.#forget(client)
    if (client !== undefined) await leave(client)
  }

  /** If an attempt that began earlier fails, tries again: the server may be back by now. */
  #openClient(): Promise<pg.Client> {
    return this.#client?.catch(() => this.#open()) ?? this.#open()
  }

  #open(): Promise<pg.Client> {
    if (this.#isClosed) throw new StoreUnavailableError('storage is closed')
    if (this.#client === undefined) {
      const opening = this.#connect()
      this.#client = opening
      opening.then(
        client => {
          if (this.#client === opening) this.#opened = client
        },
        () => {
          this.#restsUntil = performance.now() + restMs
          if (this.#client === opening) this.#client = undefined
        },
      )
    }
    return this.#client
  }

  /** Connects to the first of several servers that takes writes. */
  async #connect(): Promise<pg.Client> {
    const { hosts } = this.#settings.address
    let failure: unknown
    for (const host of this.#failover.inOrder(hosts)) {
      const client = new pg.Client(clientConfig(this.#settings, host))
      closeOnUnreadable(client)
      client.on('error', () => this.#forget(client))
      client.on('end', () => this.#forget(client))
      try {
        await client.connect()
        // Set even if it is already on: without this, the session follows an administrator's later changes.
        const { rows } = await client.query(
          `SELECT pg_is_in_recovery() AS standby, set_config('synchronous_commit',
             replace(current_setting('synchronous_commit'), 'off', 'on'), false)`,
        )
        if (rows[0]?.standby === true) throw new UnfitServerError('the server is a standby')
        if (hosts.length > 1 && !(await this.#failover.accept(client, host))) throw replaced()
        readInPieces(client.connection.stream)
        await this.#onOpen(client)
        // A takeover closes the connections that are open. This one was not open yet.
        if (this.#failover.isReplaced(client)) throw replaced()
        return client
      } catch (error) {
        failure = error
        void leave(client)
      }
    }
    throw new StoreUnavailableError('storage cannot be reached', {
      cause: failure,
      outage: failure instanceof UnfitServerError ? failure.message : 'storage cannot be reached',
    })
  }

  #drop(client: pg.Client): void {
    this.#forget(client)
    void leave(client)
  }

  #forget(client: pg.Client | undefined): void {
    if (client === undefined || this.#opened !== client) return
    this.#opened = undefined
    this.#client = undefined
  }
}

/** The server answers, but must not be used: another one has replaced it. */
class UnfitServerError extends Error {}

const replaced = (): UnfitServerError => new UnfitServerError('another server took over from this one')

const readInPieces = (stream: Duplex): void => {
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes < readAtOnceBytes) return
    bytes = 0
    stream.pause()
    setImmediate(() => stream.resume())
  })
}

const leave = async (client: pg.Client): Promise<void> => {
  const isSilent = setTimeout(() => client.connection.stream.destroy(), leaveMs)
  await client.end().catch(() => {})
  clearTimeout(isSilent)
}
