import type { Json, JsonObject } from '../json/json.ts'
import { formatInstant, type Instant } from '../time/instant.ts'
import { type Act, actResults, type TouchedToken, tokensPerRecord } from './act.ts'
import { type RecordIdBase, recordIds } from './record-id.ts'

// How the log stores acts: one JSON document for all records that became durable together. What recurs in it (kinds, actors, addresses,
// rules) is written once, and records point at it. Text is put together piece by piece, here and where records are read: with objects
// and `JSON.stringify` a record would take three times as long, on the path of every read, and once more when the log's tree grows.

/**
 * Grows with each change of what a block holds, or of the lines that its records lead to. Blocks of 1 lack a token's type, and what
 * says that an act changed nothing.
 */
const version = 2

/** Collects records into a block. */
export class BlockWriter {
  readonly #base: RecordIdBase
  readonly #recurring = new Map<unknown, number>()
  readonly #recurringTexts: string[] = []
  readonly #records: string[] = []
  #firstAt: Instant = Number.POSITIVE_INFINITY
  #lastAt: Instant = Number.NEGATIVE_INFINITY
  #begun: Instant | undefined
  /** The act before, what all but its time, trace and tokens were written as, and where its token's rule is: most acts are alike. */
  #last: Act | undefined
  #lastMiddle = ''
  #lastToken: TouchedToken | undefined
  #lastTouch = 0

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
    const head = `${at - this.#begun},"${act.traceId}",${this.#middle(act)}`
    if (tokens.length <= tokensPerRecord) {
      this.#records.push(`[${number},${head},[${this.#tokens(tokens)}]${detailsText(details)}]`)
      return
    }
    for (let part = 0; part * tokensPerRecord < tokens.length; part++) {
      const some = tokens.slice(part * tokensPerRecord, (part + 1) * tokensPerRecord)
      const more = detailsText({ ...details, part: part + 1 })
      this.#records.push(`[${number + part},${head},[${this.#tokens(some)}]${more}]`)
    }
  }

  get text(): string {
    return `{"v":${version},"at":${this.#begun ?? 0},"ids":"${this.#base}","recurring":[${this.#recurringTexts.join()}],"records":[${this.#records.join()}]}`
  }

  #middle(act: Act): string {
    const last = this.#last
    if (
      last?.kind === act.kind &&
      last.actor === act.actor &&
      last.address === act.address &&
      last.status === act.status &&
      last.result === act.result
    )
      return this.#lastMiddle
    this.#last = act
    const { status, result } = act
    this.#lastMiddle = `${this.#kind(act)},${this.#actor(act)},${this.#address(act)},${status},${actResults.indexOf(result)}`
    return this.#lastMiddle
  }

  #tokens(tokens: readonly TouchedToken[]): string {
    const [first] = tokens
    if (first === undefined) return ''
    if (tokens.length === 1) return `${JSON.stringify(first.id)},${this.#touch(first)}`
    return tokens.map(token => `${JSON.stringify(token.id)},${this.#touch(token)}`).join()
  }

  #touch(token: TouchedToken): number {
    const last = this.#lastToken
    const { type, containers, permission, transform, rule, deduplicated } = token
    if (
      last?.permission === permission &&
      last.type === type &&
      last.transform === transform &&
      last.rule === rule &&
      last.deduplicated === deduplicated &&
      containers.length === 1 &&
      last.containers.length === 1 &&
      last.containers[0] === containers[0]
    )
      return this.#lastTouch
    const name = `${permission} ${type} ${transform} ${rule} ${deduplicated} ${containers.join(' ')}`
    this.#lastToken = token
    this.#lastTouch = this.#indexOf(name, () => [
      permission,
      containers,
      transform ?? null,
      rule ?? null,
      type ?? null,
      ...(deduplicated ? [1] : []),
    ])
    return this.#lastTouch
  }

  #kind({ kind }: Act): number {
    return this.#indexOf(kind, () => [
      kind.operation,
      kind.route ?? null,
      kind.entityType,
      kind.isAboutOne ? 1 : 0,
    ])
  }

  #actor({ actor }: Act): number {
    return this.#indexOf(actor, () => [actor.type, actor.id ?? null, actor.keyId ?? null])
  }

  #address({ address }: Act): number | null {
    return address === undefined ? null : this.#indexOf(` ${address}`, () => address)
  }

  #indexOf(key: unknown, value: () => unknown): number {
    const known = this.#recurring.get(key)
    if (known !== undefined) return known
    const index = this.#recurring.size
    this.#recurring.set(key, index)
    this.#recurringTexts.push(JSON.stringify(value()))
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
  readonly before?: Json
  readonly after?: Json
  readonly count?: number
  readonly destination?: JsonObject
  readonly replayed?: true
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
  readonly #tenantId: string
  readonly #idOf: (at: Instant, number: number) => string
  /** The pieces of lines that recur, by what they point at. */
  readonly #pieces: string[] = []
  readonly #endings: string[] = []
  #at: Instant | undefined
  #time = ''

  constructor(text: string, place: BlockPlace) {
    const block = JSON.parse(text) as StoredBlock
    if (block.v > version) throw new Error('the log has a block of a version that this release does not know')
    const { kept } = place
    this.#block = block
    this.#place = place
    this.#kept = kept === null ? undefined : [...block.records.keys()].filter(index => isKept(kept, index))
    this.length = this.#kept?.length ?? block.records.length
    this.#tenantId = JSON.stringify(place.tenantId)
    this.#idOf = recordIds(block.ids)
  }

  at(index: number): LogRecord | undefined {
    const line = this.line(index)
    return line === undefined ? undefined : (JSON.parse(line) as LogRecord)
  }

  /**
   * The line of a record in an export, without its end. It is a leaf of the log's tree, so what this returns for a version, to the
   * byte, is frozen: a change of the form is a new version.
   */
  line(index: number): string | undefined {
    const record = this.#block.records[this.#kept === undefined ? index : (this.#kept[index] ?? -1)]
    if (record === undefined) return undefined
    const [number, after, traceId, kind, actor, address, status, result, tokens, details] = record
    const at = this.#block.at + after
    const { writer, first } = this.#place
    const source = address === null ? '' : this.#address(address)
    const statusText = status === 0 ? '' : `,"status":${status}`
    const entityId = details?.entityId ?? (this.#isAboutOne(kind) ? tokens[0] : undefined)
    const entity = entityId === undefined ? '' : `,"entity_id":${JSON.stringify(entityId)}`
    const touched = tokens.length === 0 ? '' : `,"tokens":[${this.#tokens(tokens)}]`
    return `{"id":"${this.#idOf(at, number)}","at":"${this.#timeOf(at)}","tenant_id":${this.#tenantId},"trace_id":"${traceId}",${this.#actor(actor)}${source},"sequence":"${writer}.${first + index}",${this.#kind(kind)},"result":"${actResults[result] ?? 'failed'}"${statusText}${this.#ending(kind)}${entity}${touched}${moreText(details)}}`
  }

  #timeOf(at: Instant): string {
    if (this.#at !== at) {
      this.#at = at
      this.#time = formatInstant(at)
    }
    return this.#time
  }

  #isAboutOne(kind: number): boolean {
    return (this.#block.recurring[kind] as StoredKind)[3] === 1
  }

  #kind(index: number): string {
    return this.#piece(index, value => kindText(value as StoredKind))
  }

  #ending(kind: number): string {
    let ending = this.#endings[kind]
    if (ending === undefined) {
      ending = `,"entity_type":${JSON.stringify((this.#block.recurring[kind] as StoredKind)[2])}`
      this.#endings[kind] = ending
    }
    return ending
  }

  #actor(index: number): string {
    return this.#piece(index, value => actorText(value as StoredActor))
  }

  #address(index: number): string {
    return this.#piece(index, value => `,"source":{"ip":${JSON.stringify(value)}}`)
  }

  #piece(index: number, textOf: (value: unknown) => string): string {
    let piece = this.#pieces[index]
    if (piece === undefined) {
      piece = textOf(this.#block.recurring[index])
      this.#pieces[index] = piece
    }
    return piece
  }

  #tokens(tokens: StoredRecord[8]): string {
    let text = ''
    for (let at = 0; at < tokens.length; at += 2) {
      const how = this.#piece(tokens[at + 1] as number, value => touchText(value as StoredTouch))
      text += `${at === 0 ? '' : ','}{"id":${JSON.stringify(tokens[at])},${how}}`
    }
    return text
  }
}

type StoredKind = readonly [operation: string, route: string | null, entityType: string, isAboutOne: number]
type StoredActor = readonly [type: string, id: string | null, keyId: string | null]
type StoredTouch = readonly [
  permission: string,
  containers: readonly string[],
  transform: string | null,
  rule: number | null,
  type?: string | null,
  deduplicated?: 1,
]

const kindText = ([operation, route]: StoredKind): string =>
  `"operation":${JSON.stringify(operation)}${route === null ? '' : `,"route":${JSON.stringify(route)}`}`

const actorText = ([type, id, keyId]: StoredActor): string =>
  `"actor":${JSON.stringify({ type, ...(id !== null && { id }), ...(keyId !== null && { key_id: keyId }) })}`

const touchText = ([permission, containers, transform, rule, type, deduplicated]: StoredTouch): string =>
  JSON.stringify({
    containers,
    permission,
    ...(transform !== null && { transform }),
    ...(rule !== null && { rule }),
    ...(typeof type === 'string' && { type }),
    ...(deduplicated === 1 && { deduplicated: true }),
  }).slice(1, -1)

/** The members that most records do not have. */
const moreText = (details: StoredDetails | undefined): string => {
  if (details === undefined) return ''
  const { entityId: _isNamedBefore, ...more } = details
  const { fields, query, before, after, destination, count, replayed, part } = more
  const text = JSON.stringify({ fields, query, before, after, destination, count, replayed, part })
  return text === '{}' ? '' : `,${text.slice(1, -1)}`
}

const isKept = (kept: Uint8Array, index: number): boolean =>
  (((kept[index >> 3] ?? 0) >> (index & 7)) & 1) === 1

export const recordsIn = (text: string, place: BlockPlace): LogRecord[] => {
  const records = new BlockRecords(text, place)
  return Array.from({ length: records.length }, (_, index) => records.at(index)).filter(
    record => record !== undefined,
  )
}

/** The same text as `BlockRecords.line`. */
export const lineOf = (record: LogRecord): string => JSON.stringify(record)
