import type { Transform } from '../access/application.ts'
import type { Permission } from '../access/permissions.ts'
import { type ErrorCode, statusOf } from '../errors.ts'
import type { Json } from '../json/json.ts'
import type { Instant } from '../time/instant.ts'

/** What an act is about. */
export type EntityType = (typeof entityTypes)[number]
export const entityTypes = [
  'token',
  'tenant',
  'application',
  'key',
  'proxy',
  'webhook',
  'report',
  'log',
] as const

/** What is done: an endpoint, a command or a job. One object for all acts of a kind. */
export type ActKind = {
  /** The endpoint's id, the command's words or the job's name. */
  readonly operation: string
  /** The pattern of an endpoint's path, never the URL. */
  readonly route?: string
  readonly entityType: EntityType
  /** Whether it is about one token, which is then what the record names. */
  readonly isAboutOne?: true
}

/** Who does it. One object for all acts of a caller, as far as possible: a block of the log writes each down once. */
export type Actor = {
  readonly type: 'application' | 'operator' | 'job' | 'anonymous'
  readonly id?: string
  readonly keyId?: string
}

/** A token that an act showed or changed, and the rule that decided how. */
export type TouchedToken = {
  readonly id: string
  /** The name of its type. */
  readonly type?: string | undefined
  readonly containers: readonly string[]
  readonly permission: Permission
  readonly transform?: Transform | undefined
  /** The rule's priority; absent where flat permissions decided, or a container that no rule covers. */
  readonly rule?: number | undefined
  /** It stood for the value already (C15), so the write did not change it. */
  readonly deduplicated?: true | undefined
}

/** A token as an act comes across it. */
type SeenToken = {
  readonly id: string
  readonly type?: { readonly name: string }
  readonly containers: readonly string[]
}

/** What some acts say and most do not. */
export type ActDetails = {
  entityId?: string
  /** Names of this interface, never of the caller. */
  fields?: readonly string[]
  query?: { readonly fields: readonly string[]; readonly operators: readonly string[] }
  before?: Json
  after?: Json
  count?: number
  /** Where a request with values went, and what came of it: bytes of the two bodies, and the time. */
  destination?: {
    readonly origin: string
    readonly proxy_id?: string | undefined
    readonly status?: number | undefined
    readonly sent?: number | undefined
    readonly received?: number | undefined
    readonly ms?: number | undefined
  }
  /** The answer to an earlier request was repeated: nothing was changed this time. */
  replayed?: true
}

/** 404 is a denial only where a rule hides what is there. */
export type ActResult = (typeof actResults)[number]
/** A result is stored as its position here, so the order is for ever. */
export const actResults = ['allowed', 'denied', 'failed'] as const

/**
 * Something that somebody does with the vault (L1): shows, changes, or is refused. The operation says what it is about as it goes;
 * whoever answers, or commits what it changes, has it recorded. It never holds a value, a URL or the text of a key.
 */
export class Act {
  readonly kind: ActKind
  readonly actor: Actor
  readonly address: string | undefined
  readonly traceId: string
  /** Set when it is recorded. */
  at: Instant = 0
  /** What its records' ids end with; set when it is recorded (`recordId`). */
  number = 0
  status = 0
  result: ActResult = 'allowed'
  tokens: TouchedToken[] = []
  details: ActDetails | undefined
  isRecorded = false
  /** Its record was durable before the answer left, which its id then carries as a receipt. */
  isDurable = false
  #reveals = false
  #existing: string | undefined

  constructor(kind: ActKind, actor: Actor, traceId: string, address?: string) {
    this.kind = kind
    this.actor = actor
    this.traceId = traceId
    this.address = address
  }

  /** It shows or changes this token, or finds that it need not. */
  touches(
    { id, type, containers }: SeenToken,
    permission: Permission,
    decision?: { readonly transform: Transform; readonly rule?: number | undefined },
    deduplicated?: boolean,
  ): void {
    const transform = decision?.transform
    if (transform === 'reveal') this.#reveals = true
    const rule = decision?.rule
    const isUnchanged = deduplicated ? true : undefined
    this.tokens.push({
      id,
      type: type?.name,
      containers,
      permission,
      transform,
      rule,
      deduplicated: isUnchanged,
    })
  }

  /** What it asks for exists in the tenant: only then may a refusal name it, since an id that is none may be anything. */
  finds(entityId: string): void {
    this.#existing = entityId
  }

  says(more: ActDetails): void {
    this.details = { ...this.details, ...more }
  }

  /** A lost race: what it touched so far was not changed, and nothing was shown. */
  startsAgain(): void {
    this.tokens = []
    this.#reveals = false
    this.isRecorded = false
    this.isDurable = false
  }

  /** What it has touched so far, as an act of its own: a long answer leaves in parts. */
  split(): Act {
    const part = new Act(this.kind, this.actor, this.traceId, this.address)
    part.ends(this.status, this.result)
    part.details = this.details
    part.tokens = this.tokens
    part.#reveals = this.#reveals
    this.startsAgain()
    return part
  }

  /** Another act of the same request. */
  another(kind: ActKind): Act {
    return new Act(kind, this.actor, this.traceId, this.address)
  }

  /** Whether the answer shows data in the clear, and must therefore wait for its record. */
  get reveals(): boolean {
    return this.#reveals
  }

  /** Its token, or whatever else it is about. */
  get entityId(): string | undefined {
    return this.details?.entityId ?? (this.kind.isAboutOne ? this.tokens[0]?.id : undefined) ?? this.#existing
  }

  /** Its details as they are stored: its only token need not be named twice. */
  get storedDetails(): ActDetails | undefined {
    const isNamed = this.details?.entityId !== undefined || (this.kind.isAboutOne && this.tokens.length > 0)
    return isNamed || this.#existing === undefined
      ? this.details
      : { ...this.details, entityId: this.#existing }
  }

  ends(status: number, result: ActResult): void {
    this.status = status
    this.result = result
  }
}

/** What the refusal of an act counts as. `isHidden`: what it asked for is there, and a rule hides it. */
export const resultOf = (code: ErrorCode, isHidden: boolean): ActResult =>
  statusOf(code) === 401 || statusOf(code) === 403 || (code === 'notFound' && isHidden) ? 'denied' : 'failed'

/** A record names this many tokens; an act that touches more has further ones. */
export const tokensPerRecord = 500

export const recordsOf = ({ tokens }: Act): number => Math.max(1, Math.ceil(tokens.length / tokensPerRecord))
