import { ceilings } from './limits.ts'

/**
 * How the vault paces the work on requests and its upkeep. These are neither limits of the interface (`limits.ts`) nor
 * settings of the operator. Units come last in the names. Figures of one mechanism, such as the queue of writes or the
 * watch over workers, are in its file.
 */
export const pace = {
  /** How far the index is read to tell a rare term from a common one. */
  searchProbeEntries: 1_000,
  /** Rows that the steps of a search are counted over for its explanation: 1 to 7 µs each, beside other requests. */
  explainedRowsMax: 1_000_000,
  /**
   * Rows that a search fetches and opens at a time: in its first batch, and in later ones at most.
   */
  searchFirstRows: 50,
  searchBatchRows: 500,
  /** Bytes of long rows that a page or a search holds at a time. */
  pageBatchBytes: 1 << 21,
  /** Records that a page of the log examines. */
  logPageRecords: 20_000,
  /** A page of events that examined so many records ends, unless it is empty still. */
  eventPageRecords: 20_000,

  /** How long after an index report the next one starts. */
  reportIntervalMs: 3_600_000,
  /** Tokens of one tenant that its report opens per minute. */
  reportRowsPerTenant: 20_000,
  /** Tokens that a report opens before it lets requests go on: 4 ms. */
  reportBatchRows: 100,
  /** Tokens of all tenants together that reports open per minute. */
  reportRowsPerRun: 60_000,

  /** A request that has not arrived completely by then is refused. */
  requestArrivalMs: 60_000,
  /** How often that is checked. Left to itself, Node would find out up to half a minute later, when idle connections are closed. */
  arrivalCheckMs: 5_000,
  /** How long the strict reader waits for a short body behind its head, before Node reads both. Most follow within a millisecond. */
  bodyFollowsMs: 50,
  /** How long a connection may be idle, as Keep-Alive announces: longer than most proxies keep theirs. */
  idleMs: 72_000,
  /**
   * Idle connections stay open this much longer than Keep-Alive announced, so that no client sends into one that is
   * just closing.
   */
  idleGraceMs: 1_000,
  /** How much of a connection is read at a time where requests may follow one another without a pause. */
  pieceBytes: 1_024,
  /** As much as the head of a request may ever hold. */
  pathParameterCharactersMax: ceilings.headBytes,
  /** How long `GET /ready` waits for storage and the key service: the probe of a load balancer gives up soon. */
  readyAnswerMs: 3_000,
  /** The Retry-After of refusals for which waiting a moment is enough. */
  retryAfterSeconds: 1,

  /** A longer body is not waited for behind its head by the reader of plain requests. */
  shortBodyBytesMax: 8_192,
  /** Bytes of bodies that arrive and of answers that nobody has read yet, in all of a process. */
  bytesOnTheirWay: 96 << 20,

  /** How long a stopping server keeps a silent connection: a client that was just answered may be sending its next request. */
  lastRequestMs: 100,
  /** Iterations of the event loop before a stopping server refuses connections: each accepts one that is waiting. */
  iterationsBeforeClosing: 256,

  /**
   * Connections that may wait to be accepted, as far as the kernel permits. Of a crowd that comes back after a restart, it would
   * leave those beyond to try again after a second, and reset some.
   */
  connectionsWaiting: 4_096,
  /** C11, C17: what is due is purged within five minutes. A sweep every minute leaves room for a slow one. */
  sweepIntervalMs: 60_000,
  sweepDeadlineMs: 300_000,
  sweepBatchRows: 200,
  /**
   * Rows of a deleted tenant per batch: some 10 ms. Smaller batches would pass again and again over rows that
   * PostgreSQL has not vacuumed yet.
   */
  deadTenantBatchRows: 1_000,
  /**
   * The sweeps run on one node, which renews its lease with each sweep. The lease lasts two intervals: a node whose
   * clock is a minute ahead does not take it from a live one, and a node that is a minute behind still takes it over in
   * time.
   */
  upkeepLeaseMs: 120_000,
  /**
   * The trees of the log grow once a second, on one node. If it dies, another takes over soon; if both do it, one of them does so in
   * vain.
   */
  proveIntervalMs: 1_000,
  proveLeaseMs: 5_000,
  /**
   * Events are delivered by one node, which looks at the logs once a second. Its lease ends soon enough for another one to go on
   * within half a minute; nodes whose clocks differ by more may both deliver.
   */
  deliverIntervalMs: 1_000,
  deliveryMaxMs: 15_000,
  deliverLeaseMs: 15_000,
  deliverRenewMs: 5_000,
  clockSkewMs: 60_000,
  /** After this long, every server has learned of a change of grants (C27), and has committed what it wrote without it. */
  grantsHeardMs: 2_000,
  /** C32: read activity may lose its last second in a crash. */
  activityFlushIntervalMs: 1_000,

  /** AES-GCM with random nonces stays safe to 2^32 seals per key; a new version is made at half of that. */
  dataKeySealsMax: 2 ** 31,
} as const
