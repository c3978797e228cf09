/**
 * How the vault paces its own work: no limit of the interface (`limits.ts`), and nothing that an operator sets. Units
 * come last in the names.
 */
export const pace = {
  /** How far the index is read to tell a rare term from a common one. */
  searchProbeEntries: 1_000,
  /** Rows that a search fetches to open them: at first, later at most, and of long rows as many as have so many bytes. */
  searchFirstRows: 50,
  searchBatchRows: 500,
  searchBatchBytes: 1 << 24,

  /** How long after an index report the next one is begun. */
  reportIntervalMs: 3_600_000,
  /** Tokens of one tenant that its report opens in each minute. */
  reportRowsPerTenant: 20_000,
  /** Tokens that a report opens before requests go on: 4 ms. */
  reportBatchRows: 100,
  /** Tokens of all tenants that reports open in each minute. */
  reportRowsPerRun: 60_000,

  /** A request that has not arrived as a whole by then is refused. */
  requestArrivalMs: 60_000,
  /** So much later than was promised is an idle connection closed: nothing is sent to one that ends just then. */
  idleGraceMs: 1_000,
  /** So much of a connection is read at a time where requests may follow each other without pause. */
  pieceBytes: 1_024,
  /** As much as a head may hold. */
  pathParameterCharactersMax: 65_536,
  /** How long `GET /ready` waits for storage and key service: a load balancer's probe gives up soon. */
  readyAnswerMs: 3_000,
  /** What Retry-After says where waiting a moment is all that it takes. */
  retryAfterSeconds: 1,

  /** Requests of one turn of the event loop that are worked on together; what more would gain could not be measured. */
  requestsTogetherMax: 16,
  /** A request with a longer body is work enough by itself: others would wait for it. */
  shortBodyBytesMax: 8_192,
  /** The event loop accepts one connection in a turn; behind long requests alone, newcomers would wait for seconds. */
  loopTurnsBetweenLong: 16,

  /** Before a server that stops refuses connections: each of them accepts one that waits. */
  loopTurnsBeforeClosing: 256,

  /** Requests that are worked on at one time; others are turned away. */
  requestsInFlight: 1_000,
  /** While fewer are worked on, none is turned away for what waits ahead of it (the next two). */
  requestsAlwaysTaken: 64,
  /** Requests with a long body that may queue: some 15 ms each, half a second in all. */
  longRequestsWaiting: 32,
  /** Pages of tokens that are made at one time. */
  pagesAtOnce: 8,
  /** Bytes of pages that may wait for clients to read them, and how many of one count as waiting. */
  pageBytesUnreadMax: 1 << 28,
  pageBytesNoted: 1 << 16,
  /** Changes that may wait for storage: half a second's worth, ten tokenizes of a thousand. */
  changesWaiting: 10_000,
  /** A turn of the event loop that has worked for so long takes in no more requests, beyond these few. */
  loopTurnWorkMs: 1_000,
  requestsPerLoopTurnMin: 4,
  loopCheckIntervalMs: 50,
  /** How often the log tells of requests that were turned away, at most. */
  overloadReportIntervalMs: 10_000,

  /** C11, C17: what is due is purged within five minutes; a sweep each minute leaves room for a slow one. */
  sweepIntervalMs: 60_000,
  sweepDeadlineMs: 300_000,
  sweepBatchRows: 200,
  /** Rows of a deleted tenant: some 10 ms. Smaller batches go again and again past what PostgreSQL has not vacuumed yet. */
  burialBatchRows: 1_000,
  /**
   * The sweeps run on one node, which renews its lease with each. Two intervals: a node whose clock is a minute
   * ahead does not take the lease from one that lives, and one that is a minute behind still takes it over in time.
   */
  upkeepLeaseMs: 120_000,
  clockSkewMs: 60_000,
  /** C32: read activity may lose its last second in a crash. */
  activityFlushIntervalMs: 1_000,

  /** AES-GCM with random nonces stays safe to 2^32 seals per key; a new version is made at half of that. */
  dataKeySealsMax: 2 ** 31,
} as const
