import type { Columns } from '../columns.ts'
import { FairQueue } from '../fair-queue.ts'
import { StoreOverloadedError } from '../port.ts'
import type { ConnectionSettings } from './client-config.ts'
import { Connection, type QueryAnswer, type Statement } from './connection.ts'
import { endsConnection, unavailable } from './failures.ts'
import { lightMs, ReadCosts, ReadTimer, unknownMs } from './read-costs.ts'

type Read = {
  readonly tenant: number
  readonly statement: Statement
  /** What it has in common with other reads that take about as long; normally its name. */
  readonly kind: string | undefined
  readonly costMs: number
  readonly since: number
  readonly resolve: (answer: QueryAnswer<unknown>) => void
  readonly reject: (error: unknown) => void
}

/** A connection and what it was asked. A server answers the statements of a connection one after another. */
type Line = {
  readonly connection: Connection
  reads: number
  /** The expected time of its reads. */
  loadMs: number
  /** When the read that the server works on was begun, as far as can be told from here. */
  busySince: number
}

/** The expected time of the light reads that are under way on one connection: whoever comes next waits this long at most. */
const roomMs = 2 * lightMs
/** How many reads are under way on one connection: what was expected of them may be wrong. */
const readsMax = 8
/** When this many wait, nobody who has some waiting may add more. */
const waitingMax = 4_000
/** How long a read may wait to be sent. Only a tenant that asks for more than its share waits that long. */
const waitMaxMs = 3_000
const waitCheckMs = 250

/**
 * Connections for reads. Each read is one statement, so a connection can have several under way, and nobody's read may wait for
 * somebody else's slow one (C37). So reads queue here, and tenants take turns by the time that their reads are expected to take
 * (fair-queue.ts, read-costs.ts). Light ones share connections. Any other has a connection for itself, and two connections are kept
 * for light ones.
 */
export class ReadPool {
  readonly #lines: readonly Line[]
  readonly #spare: readonly Connection[]
  readonly #waiting = new FairQueue<Read>()
  readonly #costs = new ReadCosts()
  readonly #timer = new ReadTimer()
  readonly #isBusy = () => this.#lines.some(({ reads }) => reads > 0)
  /** How many reads of a tenant are alone on a connection. */
  readonly #alone = new Map<number, number>()
  readonly #full = { has: (tenant: number) => (this.#alone.get(tenant) ?? 0) >= this.#aloneOfTenantMax }
  readonly #aloneMax: number
  readonly #aloneOfTenantMax: number
  #aloneTotal = 0
  #expiry: NodeJS.Timeout | undefined

  /** `spare`: connections meant for other work, used when none of the pool's is open. */
  constructor(settings: ConnectionSettings, size: number, spare: readonly Connection[]) {
    this.#lines = Array.from({ length: size }, () => ({
      connection: new Connection(settings),
      reads: 0,
      loadMs: 0,
      busySince: 0,
    }))
    this.#spare = spare
    this.#aloneMax = Math.max(1, size - 2)
    this.#aloneOfTenantMax = Math.max(1, this.#aloneMax - 1)
  }

  /** An open connection, if there is one. */
  get open(): Connection | undefined {
    return this.#lines.find(({ connection }) => connection.isOpen)?.connection
  }

  query<Row = Columns>(
    tenant: number,
    statement: Statement,
    kind = statement.name,
  ): Promise<QueryAnswer<Row>> {
    if (this.#waiting.length >= waitingMax && this.#waiting.weightOf(tenant) > 0)
      return Promise.reject(new StoreOverloadedError())
    const { promise, resolve, reject } = Promise.withResolvers<QueryAnswer<unknown>>()
    const costMs = Math.max(this.#costs.expected(tenant, kind), statement.isLong ? unknownMs : 0)
    const since = performance.now()
    const read = { tenant, statement, kind, costMs, since, resolve, reject }
    this.#waiting.add(tenant, read, costMs)
    this.#sendNext()
    if (this.#waiting.length > 0) this.#expiry ??= setInterval(() => this.#refuseLate(), waitCheckMs).unref()
    return promise as Promise<QueryAnswer<Row>>
  }

  abandon(): void {
    for (const { connection } of this.#lines) connection.abandon()
  }

  async close(): Promise<void> {
    await Promise.all(this.#lines.map(({ connection }) => connection.close()))
    clearInterval(this.#expiry)
    this.#timer.stop()
  }

  #sendNext(): void {
    while (this.#waiting.length > 0) {
      const line = leastBusy(this.#lines)
      if (line === undefined) return
      const isIdle = line.reads === 0
      const reads =
        isIdle && this.#aloneTotal < this.#aloneMax ? this.#waiting.take(0, { but: this.#full }) : []
      if (reads.length === 0)
        reads.push(
          ...this.#waiting.take(Math.min(lightMs, roomMs - line.loadMs), { onlyLight: true, countMax: 1 }),
        )
      if (reads.length === 0) return
      for (const read of reads) void this.#send(line, read)
    }
  }

  async #send(line: Line, read: Read): Promise<void> {
    const { tenant, kind, costMs } = read
    const isAlone = costMs > lightMs
    const loadMs = isAlone ? roomMs : costMs
    const wasOpen = line.connection.isOpen
    this.#timer.start(this.#isBusy)
    if (line.reads === 0) line.busySince = performance.now()
    line.reads++
    line.loadMs += loadMs
    if (isAlone) this.#countAlone(tenant, 1)
    try {
      read.resolve(await this.#ask(line.connection, read))
      if (wasOpen) this.#costs.learn(tenant, kind, this.#timer.since(line.busySince))
      line.busySince = performance.now()
    } catch (error) {
      read.reject(error)
    }
    line.reads--
    line.loadMs = line.reads === 0 ? 0 : line.loadMs - loadMs
    if (isAlone) this.#countAlone(tenant, -1)
    this.#sendNext()
  }

  #countAlone(tenant: number, change: 1 | -1): void {
    this.#aloneTotal += change
    const count = (this.#alone.get(tenant) ?? 0) + change
    if (count === 0) this.#alone.delete(tenant)
    else this.#alone.set(tenant, count)
  }

  /** A read has no effect, so one whose connection broke is simply repeated on an open connection. */
  async #ask(connection: Connection, { statement }: Read): Promise<QueryAnswer<unknown>> {
    try {
      return await connection.query<unknown>(statement)
    } catch (error) {
      if (!endsConnection(error)) throw unavailable('storage cannot be read', error)
    }
    const all = this.#lines.map(line => line.connection)
    const open = [...all, ...this.#spare].filter(({ isOpen }) => isOpen)
    const [other = connection] = open.sort((a, b) => a.inFlight - b.inFlight)
    try {
      return await other.query<unknown>(statement)
    } catch (error) {
      throw unavailable('storage cannot be read', error)
    }
  }

  #refuseLate(): void {
    const before = performance.now() - waitMaxMs
    for (const late of this.#waiting.takeWhile(({ since }) => since < before))
      late.reject(new StoreOverloadedError())
    if (this.#waiting.length > 0) return
    clearInterval(this.#expiry)
    this.#expiry = undefined
  }
}

/** The connection with the least to do that takes more. A new one is opened only when all open ones are busy. */
const leastBusy = (lines: readonly Line[]): Line | undefined => {
  let best: Line | undefined
  for (const line of lines)
    if (
      line.reads < readsMax &&
      line.loadMs < roomMs &&
      (best === undefined || busyness(line) < busyness(best))
    )
      best = line
  return best
}

const busyness = ({ connection: { isOpen, isResting }, loadMs }: Line): number =>
  loadMs + (isOpen ? 0 : isResting ? Number.MAX_SAFE_INTEGER : 0.5)
