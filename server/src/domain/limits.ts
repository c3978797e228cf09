/**
 * Every limit of the interface, in one place (C8). Units come last in the names; characters are code points. An
 * operator may set the limits listed in `ceilings` (`--limits`).
 */
const inForce = {
  bodyBytes: 1_048_576,
  /** The URL and all headers together. */
  headBytes: 16_384,
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
  /** Index entries that a request makes. Without it, a thousand tokens in ten containers of 16 levels would be 160,000 rows. */
  termsPerRequest: 20_000,
  /** Numbers in a body that doubles cannot hold (C7). Each costs about a microsecond, whenever the data is read. */
  exactNumbersPerRequest: 5_000,
  nameCharactersMax: 200,
  permissionsMax: 50,
  rulesPerApplication: 50,
  destinationsPerRule: 20,
  rulePriorityMax: 1_000_000,
  liveKeysPerApplication: 10,
  proxiesPerTenant: 20,
  configurationKeys: 25,
  configurationNameCharactersMax: 64,
  configurationValueCharactersMax: 4_096,
  proxyTransformsBytes: 65_536,
  proxyTimeoutSecondsMax: 60,
  webhooksPerTenant: 20,
  eventsPerWebhook: 100,
  secretGraceHoursMax: 72,

  expressionCharactersMax: 400,
  /**
   * What a whole mask, the judging of a card's mask, or an id may cost, in steps of about a nanosecond: a few plain creates. A mask
   * is rendered at every read under `mask`.
   */
  expressionSteps: 1_000_000,
  /**
   * The same for all search indexes of a token, and for its fingerprint: less, because a caller who may not read the data could
   * time what its expressions do (C13).
   */
  hashedExpressionSteps: 100_000,
  /** The same for judging a mask set by a caller who may not read the data. A few leaves are tried on a hundred numbers. */
  blindMaskSteps: 600_000,
  /** On top, for each character of the data: reading it twice is affordable, sorting it is not. */
  expressionStepsPerCharacter: 10,
  /** A page shows a hundred of them. On top, as many as the data has. */
  expressionOutputCharacters: 65_536,
  /** All expressions of a tokenize: a thousand tokens with masks, indexes and ids of their own fit, a thousand of the dearest do not. */
  expressionStepsPerRequest: 300_000_000,

  /** U5: what a detokenize may ask for, its answer, and the sealed bytes that it may have read for that. */
  detokenizeExpressions: 2_000,
  detokenizeTokens: 1_000,
  detokenizeTokenBytes: 33_554_432,
  detokenizeAnswerBytes: 8_388_608,
  /** U12: the same for one request to the proxy. Its expressions, stored bytes and length are limited as for detokenize. */
  proxyTokens: 100,
  proxyHeaderCharacters: 8_192,
  /** U19, in each of a proxy's two lists. */
  proxyTransforms: 20,

  pageSizeDefault: 20,
  pageSizeMax: 100,
  pageNumberMax: 1_000_000_000,
  logPageSizeDefault: 100,
  logPageSizeMax: 1_000,
  eventPageSizeDefault: 100,
  eventPageSizeMax: 1_000,
  /** Failed events of a webhook that are kept (E4). */
  failedDeliveries: 1_000,
  /** `id=` and `type=` filters of one list request. */
  filterValuesMax: 100,

  searchQueryCharactersMax: 400,
  searchTerms: 50,
  /** How deep parentheses and negations may be nested. */
  searchDepth: 16,
  /** Alternatives of a query once its ORs are multiplied out. */
  searchBranches: 64,
  /** Search indexes and metadata keys in one report. */
  reportIndexes: 200,

  idempotencyKeyCharactersMax: 255,
  idempotencyLifetimeMs: 24 * 3_600_000,
  cvcLifetimeMs: 3_600_000,

  aliasAttempts: 10,
  aliasRandomCharactersMin: 6,

  /** A destination's time: to be found, to be connected to, for the first byte of its answer, between bytes, and in all. */
  destinationDnsMs: 3_000,
  destinationConnectMs: 5_000,
  destinationFirstByteMs: 25_000,
  destinationBetweenBytesMs: 10_000,
  destinationTotalMs: 120_000,
  /** Its answer, decoded and as it arrives. */
  destinationAnswerBytes: 1 << 20,
  destinationWireBytes: 2 << 20,
  /** Calls of other servers that are under way, of one kind: for a tenant, and for all. Answers are held whole. */
  callsPerTenant: 64,
  callsPerProcess: 256,
  callBytesPerProcess: 256 << 20,

  errorNameCharactersMax: 64,
  errorsPerAnswer: 50,
}

export type Limits = Readonly<typeof inForce>
export const limits: Limits = inForce

/**
 * What an operator may set, and how high. Beyond these values one request would keep others waiting, and a longer id
 * would not fit into PostgreSQL's indexes.
 */
export const ceilings = {
  bodyBytes: 16_777_216,
  headBytes: 65_536,
  jsonDepth: 256,
  tokensPerTokenize: 10_000,
  idCharactersMax: 400,
  metadataKeys: 500,
  metadataKeyCharactersMax: 256,
  metadataValueCharactersMax: 16_384,
  searchIndexes: 50,
  expressionCharactersMax: 4_000,
  maskBytes: 262_144,
  containersPerToken: 50,
  containerCharactersMax: 1_000,
  containerLevels: 32,
  termsPerRequest: 200_000,
  exactNumbersPerRequest: 50_000,
  idempotencyKeyCharactersMax: 255,
  pageSizeDefault: 1_000,
  pageSizeMax: 1_000,
  searchQueryCharactersMax: 4_000,
  nameCharactersMax: 1_000,
  rulesPerApplication: 500,
  liveKeysPerApplication: 100,
} as const satisfies Partial<Limits>

export type SetLimits = { readonly [Name in keyof typeof ceilings]?: number }

/** Must be called before anything is loaded that is built from limits, such as schemas and messages. */
export const setLimits = (wanted: SetLimits): void => {
  const fault = contradiction(wanted)
  if (fault !== undefined) throw new Error(`limits contradict each other: ${fault}`)
  Object.assign(inForce, wanted)
}

/** The rule that these limits would break, or undefined. */
export const contradiction = (wanted: SetLimits): string | undefined => {
  const all = { ...limits, ...wanted }
  const relations: readonly [boolean, string][] = [
    [all.pageSizeDefault <= all.pageSizeMax, 'pageSizeDefault must not exceed pageSizeMax'],
    [all.maskBytes < all.bodyBytes, 'maskBytes must be below bodyBytes'],
    [all.expressionCharactersMax < all.maskBytes, 'expressionCharactersMax must be below maskBytes'],
    [all.idCharactersMax >= 36, 'idCharactersMax must be at least 36'],
  ]
  return relations.find(([holds]) => !holds)?.[1]
}
