/** Every limit of the interface, in one place (C8). Units come last in the names; characters are code points. */
export const limits = {
  bodyBytes: 1_048_576,
  jsonDepth: 32,
  tokensPerTokenize: 1_000,

  idCharactersMin: 3,
  idCharactersMax: 400,
  typeCharactersMax: 50,
  metadataKeys: 50,
  metadataKeyCharactersMax: 64,
  metadataValueCharactersMax: 1_024,
  searchIndexes: 10,
  maskBytes: 16_384,
  containersPerToken: 10,
  containerCharactersMax: 400,
  containerLevels: 16,
  nameCharactersMax: 200,
  rulesPerApplication: 50,
  liveKeysPerApplication: 10,

  expressionCharactersMax: 400,
  /** Work units (filter calls plus characters produced) that one rendering may spend: C20 "bounded in steps". */
  expressionSteps: 100_000,
  expressionOutputCharacters: 65_536,
  /** The same for all expressions of one request together: about a second of the slowest filters. */
  expressionStepsPerRequest: 32_000_000,

  pageSizeDefault: 20,
  pageSizeMax: 100,
  /** `id=` and `type=` filters of one list request. */
  filterValuesMax: 100,

  searchQueryCharactersMax: 400,
  searchTerms: 50,
  /** Parentheses and negations inside one another. */
  searchDepth: 16,
  /** Ways in which a query can be met, once its ORs are multiplied out. */
  searchBranches: 64,
  /** How far the index is read to tell a rare term from a common one. */
  searchProbeEntries: 1_000,
  /** Rows that are opened between two looks at other requests. */
  searchBatchRows: 500,

  /** The index report starts anew so long after the last one; a pass opens so many tokens in each minute. */
  reportIntervalMs: 3_600_000,
  reportRowsPerTenant: 20_000,
  /** Tokens that are opened between two looks at requests: 4 ms. */
  reportBatchRows: 100,
  reportRowsPerRun: 60_000,
  /** Search indexes and metadata keys of one report. */
  reportIndexes: 200,

  /** Requests that are worked on at one time; others are turned away. */
  requestsInFlight: 1_000,
  /** As many are taken in however much each of them asks for. */
  requestsAlwaysTaken: 64,
  /** Requests with a long body that wait for their turn, after which no more are taken in: some 15 ms each, half a second in all. */
  longRequestsWaiting: 32,
  /** Changes that wait for storage, after which it takes in no more: half a second's worth, ten tokenizes of a thousand. */
  changesWaiting: 10_000,
  /** Work of one turn of the event loop, after which it takes in no more than these requests. */
  turnWorkMs: 1_000,
  requestsPerTurnMin: 4,
  turnCheckIntervalMs: 50,

  idempotencyKeyCharactersMax: 255,
  idempotencyLifetimeMs: 24 * 3_600_000,
  cvcLifetimeMs: 3_600_000,
  /** C11, C17: what is due is purged within five minutes; a sweep each minute leaves room for a slow one. */
  sweepIntervalMs: 60_000,
  sweepDeadlineMs: 300_000,
  sweepBatchRows: 200,
  /**
   * The sweeps run on one node, which renews its lease with each. Two intervals: a node whose clock is a minute
   * ahead does not take the lease from one that lives, and one that is a minute behind still takes it over in time.
   */
  upkeepLeaseMs: 120_000,
  clockSkewMs: 60_000,
  /** C32: read activity may lose its last second in a crash. */
  activityFlushIntervalMs: 1_000,

  aliasAttempts: 10,
  aliasRandomCharactersMin: 6,
  /** AES-GCM with random nonces stays safe to 2^32 seals per key; a new version is made at half of that. */
  dataKeySealsMax: 2 ** 31,

  errorNameCharactersMax: 64,
  errorsPerAnswer: 50,
} as const

const mustHold = (relation: boolean, text: string): void => {
  if (!relation) throw new Error(`limits contradict each other: ${text}`)
}
mustHold(limits.sweepIntervalMs * 2 < limits.sweepDeadlineMs, 'two sweeps fit into the purge deadline')
mustHold(
  limits.sweepIntervalMs + limits.clockSkewMs <= limits.upkeepLeaseMs,
  'a living node renews its lease before another one takes it for over',
)
mustHold(
  limits.upkeepLeaseMs + limits.sweepIntervalMs + limits.clockSkewMs < limits.sweepDeadlineMs,
  'a dead node is replaced within the purge deadline',
)
mustHold(limits.pageSizeDefault <= limits.pageSizeMax, 'the default page is a legal page')
mustHold(limits.maskBytes < limits.bodyBytes, 'a mask fits into a body')
mustHold(limits.expressionCharactersMax < limits.maskBytes, 'an expression fits into a mask')
mustHold(limits.dataKeySealsMax < 2 ** 32, 'a data key is retired before its nonces run out')
