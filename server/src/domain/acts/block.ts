import type { JsonObject } from '../json/json.ts'
import { formatInstant, type Instant } from '../time/instant.ts'
import { type Act, actResults, type TouchedToken, tokensPerRecord } from './act.ts'
import { type RecordIdBase, recordId } from './record-id.ts'

// How the log stores acts: one JSON document for all records that became durable together. What recurs in it (kinds, actors, addresses,
// rules) is written once, and records point at it. Text is put together piece by piece: as objects for `JSON.stringify`, a record
// would take three times as long, on the path of every read.

/** Collects records into a block. */
export class BlockWriter {
  readonly #base: RecordIdBase
  readonly #recurring = new Map<unknown, number>()
  #recurringText = ''
  #text = ''
  #firstAt: Instant = Number.POSITIVE_INFINITY
  #lastAt: Instant = Number.NEGATIVE_INFINITY
  #begun: Instant | undefined

  constructor(base: RecordIdBase) {
    this.#base = base
  }

  get firstAt(): Instant {
    return this.#firstAt
  }

  get lastAt(): Instant {
    return this.#lastAt
  }

  add(act: Act): void {
    const { at, number, tokens, storedDetails: details } = act
    this.#begun ??= at
    if (at < this.#firstAt) this.#firstAt = at
    if (at > this.#lastAt) this.#lastAt = at
    const head = `${at - this.#begun},"${act.traceId}",${this.#kind(act)},${this.#actor(act)},${this.#address(act)},${act.status},${actResults.indexOf(act.result)}`
    if (tokens.length <= tokensPerRecord) {
      this.#append(`[${number},${head},${this.#tokens(tokens)}${detailsText(details)}]`)
      return
    }
    for (let part = 0; part * tokensPerRecord < tokens.length; part++) {
      const some = tokens.slice(part * tokensPerRecord, (part + 1) * tokensPerRecord)
      const more = detailsText({ ...details, part: part + 1 })
      this.#append(`[${number + part},${head},${this.#tokens(some)}${more}]`)
    }
  }

  get text(): string {
    return `{"v":1,"at":${this.#begun ?? 0},"ids":"${this.#base}","recurring":[${this.#recurringText}],"records":[${this.#text}]}`
  }

  #append(record: string): void {
    this.#text = this.#text === '' ? record : `${this.#text},${record}`
  }

  #tokens(tokens: readonly TouchedToken[]): string {
    const [first] = tokens
    if (first === undefined) return '[]'
    if (tokens.length === 1) return `[${JSON.stringify(first.id)},${this.#touch(first)}]`
    return `[${tokens.map(token => `${JSON.stringify(token.id)},${this.#touch(token)}`).join()}]`
  }

  #touch({ containers, permission, transform, rule }: TouchedToken): number {
    const name = `${permission} ${transform} ${rule} ${containers.length === 1 ? containers[0] : containers.join(' ')}`
    return (
      this.#recurring.get(name) ??
      this.#recurs(name, [permission, containers, transform ?? null, rule ?? null])
    )
  }

  #kind({ kind }: Act): number {
    return (
      this.#recurring.get(kind) ??
      this.#recurs(kind, [kind.operation, kind.route ?? null, kind.entityType, kind.isAboutOne ? 1 : 0])
    )
  }

  #actor({ actor }: Act): number {
    return (
      this.#recurring.get(actor) ?? this.#recurs(actor, [actor.type, actor.id ?? null, actor.keyId ?? null])
    )
  }

  #address({ address }: Act): number | null {
    if (address === undefined) return null
    const name = ` ${address}`
    return this.#recurring.get(name) ?? this.#recurs(name, address)
  }

  #recurs(key: unknown, value: unknown): number {
    const index = this.#recurring.size
    this.#recurring.set(key, index)
    this.#recurringText += `${index === 0 ? '' : ','}${JSON.stringify(value)}`
    return index
  }
}

const detailsText = (details: object | undefined): string =>
  details === undefined ? '' : `,${JSON.stringify(details)}`

type StoredBlock = {
  readonly v: number
  readonly at: Instant
  readonly ids: RecordIdBase
  readonly recurring: readonly unknown[]
  readonly records: readonly StoredRecord[]
}

type StoredRecord = readonly [
  number: number,
  after: number,
  traceId: string,
  kind: number,
  actor: number,
  address: number | null,
  status: number,
  result: number,
  tokens: readonly (string | number)[],
  details?: StoredDetails,
]

type StoredDetails = {
  readonly entityId?: string
  readonly fields?: readonly string[]
  readonly query?: JsonObject
  readonly before?: JsonObject
  readonly after?: JsonObject
  readonly count?: number
  readonly part?: number
}

/** Where a block stands in its log. */
export type BlockPlace = {
  readonly tenantId: string
  readonly writer: number
  readonly first: number
  readonly kept: Uint8Array | null
}

/** One record (L2), as answers and exports show it. */
export type LogRecord = JsonObject & {
  /** Ids are in the order of time, and those of one process in the order of its acts. */
  readonly id: string
  readonly at: string
  readonly sequence: string
  readonly trace_id: string
  readonly actor: { readonly type: string; readonly id?: string }
  readonly operation: string
  readonly result: string
  readonly entity_type: string
}

/** The records of a block that count. Each is made when it is asked for, because a block may hold ten thousand. */
export class BlockRecords {
  readonly length: number
  readonly #block: StoredBlock
  readonly #place: BlockPlace
  /** Where the records that count are among those that were sealed, if some do not count. */
  readonly #kept: readonly number[] | undefined

  constructor(text: string, place: BlockPlace) {
    const block = JSON.parse(text) as StoredBlock
    if (block.v !== 1) throw new Error('the log has a block of a version that this release does not know')
    const { kept } = place
    this.#block = block
    this.#place = place
    this.#kept = kept === null ? undefined : [...block.records.keys()].filter(index => isKept(kept, index))
    this.length = this.#kept?.length ?? block.records.length
  }

  /**
   * The line of a record is a leaf of the log's tree, so whatever this returns for a version, and in which order, is frozen: a change
   * of the form is a new version.
   */
  at(index: number): LogRecord | undefined {
    const { tenantId, writer, first } = this.#place
    const record = this.#block.records[this.#kept === undefined ? index : (this.#kept[index] ?? -1)]
    return record && toRecord(this.#block, record, tenantId, `${writer}.${first + index}`)
  }
}

export const recordsIn = (text: string, place: BlockPlace): LogRecord[] => {
  const records = new BlockRecords(text, place)
  return Array.from({ length: records.length }, (_, index) => records.at(index)).filter(
    record => record !== undefined,
  )
}

const isKept = (kept: Uint8Array, index: number): boolean =>
  (((kept[index >> 3] ?? 0) >> (index & 7)) & 1) === 1

const toRecord = (
  { at: begun, ids, recurring }: StoredBlock,
  [number, after, traceId, kind, actor, address, status, result, tokens, details = {}]: StoredRecord,
  tenantId: string,
  sequence: string,
): LogRecord => {
  const at = begun + after
  const [operation, route, entityType, isAboutOne] = recurring[kind] as [
    string,
    string | null,
    string,
    number,
  ]
  const [type, id, keyId] = recurring[actor] as [string, string | null, string | null]
  const touched = touchedTokens(tokens, recurring)
  const entityId = details.entityId ?? (isAboutOne === 1 ? (tokens[0] as string | undefined) : undefined)
  const { fields, query, before, after: then, count, part } = details
  return {
    id: recordId(ids, at, number),
    at: formatInstant(at),
    tenant_id: tenantId,
    trace_id: traceId,
    actor: { type, ...(id !== null && { id }), ...(keyId !== null && { key_id: keyId }) },
    ...(address !== null && { source: { ip: recurring[address] as string } }),
    sequence,
    operation,
    ...(route !== null && { route }),
    result: actResults[result] ?? 'failed',
    ...(status !== 0 && { status }),
    entity_type: entityType,
    ...(entityId !== undefined && { entity_id: entityId }),
    ...(touched.length > 0 && { tokens: touched }),
    ...(fields && { fields: [...fields] }),
    ...(query && { query }),
    ...(before !== undefined && { before }),
    ...(then !== undefined && { after: then }),
    ...(count !== undefined && { count }),
    ...(part !== undefined && { part }),
  }
}

const touchedTokens = (tokens: StoredRecord[8], recurring: readonly unknown[]): JsonObject[] => {
  const touched: JsonObject[] = []
  for (let at = 0; at < tokens.length; at += 2) {
    const [permission, containers, transform, rule] = recurring[tokens[at + 1] as number] as [
      string,
      string[],
      string | null,
      number | null,
    ]
    touched.push({
      id: tokens[at] as string,
      containers: [...containers],
      permission,
      ...(transform !== null && { transform }),
      ...(rule !== null && { rule }),
    })
  }
  return touched
}

/** The line of a record in an export, without its end: the leaf of the log's tree. */
export const lineOf = (record: LogRecord): string => JSON.stringify(record)
