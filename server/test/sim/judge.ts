import { isDeepStrictEqual } from 'node:util'
import { changeStatus, mayCreate, readShows } from '../rig/access-oracle.ts'
import { definitionsOf, isPermitted, type Operation } from './operation.ts'
import type { Definition } from './requests.ts'
import {
  canCreate,
  canSee,
  changesMaskOf,
  chosenId,
  containersOf,
  givesFirstFingerprint,
  isDeduplicated,
  isLiving,
  isSameMatch,
  livingTokens,
  monthOf,
  newToken,
  oldestMatches,
  patchedToken,
  rightsOf,
  type SimTenant,
  type SimToken,
  viewToken,
  viewUnreadable,
  type World,
  writeTransformIn,
} from './world.ts'

export type Answer = { readonly status: number; readonly body?: unknown }

/** No state of the vault during the request explains the answer. */
export class Unexplained extends Error {}

/** The model cannot compute fingerprints, so it only checks that equal values, and no others, share one. */
export class Fingerprints {
  readonly #markOf = new Map<string, string>()
  readonly #textOf = new Map<string, string>()

  isSame(expected: unknown, actual: unknown, tenant: string): boolean {
    const found = new Map<string, string>()
    if (!isDeepStrictEqual(expected, this.#marked(expected, actual, tenant, found))) return false
    for (const [text, mark] of found) {
      this.#markOf.set(text, mark)
      this.#textOf.set(mark, text)
    }
    return true
  }

  /** The answer with marks in place of fingerprints. A new fingerprint gets the mark expected in its place. */
  #marked(expected: unknown, actual: unknown, tenant: string, found: Map<string, string>): unknown {
    if (typeof actual !== 'object' || actual === null) return actual
    const at = (name: string): unknown => (expected as Record<string, unknown> | undefined)?.[name]
    if (Array.isArray(actual))
      return actual.map((item, index) => this.#marked(at(String(index)), item, tenant, found))
    return Object.fromEntries(
      Object.entries(actual).map(([name, value]) => {
        if (name !== 'fingerprint') return [name, this.#marked(at(name), value, tenant, found)]
        // A repetition is compared with the first answer itself.
        if (value === at(name)) return [name, value]
        const text = `${tenant} ${value}`
        const wanted = `${tenant} ${at(name)}`
        if (!this.#markOf.has(text) && !this.#textOf.has(wanted)) found.set(text, wanted)
        const mark = this.#markOf.get(text) ?? found.get(text)
        return [name, mark === wanted ? at(name) : `another one: ${mark}`]
      }),
    )
  }
}

/** The worlds that existed while the operation was under way. */
type Range = readonly World[]

/** Compares an answer with those worlds. Throws if none explains it. */
export const judge = (op: Operation, answer: Answer, range: Range, fingerprints: Fingerprints): void => {
  const { request, wire } = op
  if (request.kind === 'sweep' || wire === undefined) return
  const tenantId = range[0]!.tenants[request.tenant]!.id
  const isIt = (expected: Answer | undefined): boolean =>
    expected !== undefined &&
    expected.status === answer.status &&
    (expected.body === undefined ? true : fingerprints.isSame(expected.body, answer.body, tenantId))
  if (answer.status === 503 && op.metFault) return
  if (answer.status === 409 && wire.resultName !== undefined && op.rivals.has(wire.resultName)) return

  for (const data of range) {
    const tenant = data.tenants[request.tenant]!
    if (tenant.isDeleted || !tenant.keys.has(wire.keyId)) {
      if (answer.status === 401) return
    }
    const caller = op.caller
    if (caller === undefined) continue
    if (!isPermitted(caller, op)) {
      if (answer.status === 403) return
      continue
    }
    const kept = wire.resultName === undefined ? undefined : tenant.results.get(wire.resultName)
    if (kept !== undefined && kept.until > data.now && op.wroteAt === undefined) {
      if (kept.status === answer.status && (kept.body === undefined || isIt(kept))) {
        kept.body = answer.body
        return
      }
    }
  }
  const { caller } = op
  if (caller !== undefined && isPermitted(caller, op)) {
    if (request.kind === 'list' || request.kind === 'cursor' || request.kind === 'search') {
      judgeList(op, caller, answer, range, tenantId, fingerprints)
      return
    }
    if (op.expected !== undefined) {
      const isSame = (hit: unknown, shown: unknown): boolean =>
        idOf(hit) === idOf(shown) && (typeof shown === 'string' || fingerprints.isSame(hit, shown, tenantId))
      const filled = { ...op.expected, body: fillHits(op, caller, answer, range, isSame) }
      if (isIt(filled)) return
      throw unexplained(op, answer, filled)
    }
    if (range.some(data => isIt(withoutWriting(op, caller, data)))) return
    if (isHit(op, caller, answer, range, isIt)) return
  }
  throw unexplained(
    op,
    answer,
    range.map(data => caller && withoutWriting(op, caller, data)),
  )
}

const unexplained = (op: Operation, answer: Answer, expected: unknown): Unexplained =>
  new Unexplained(
    `${JSON.stringify(op.request)} was answered ${JSON.stringify(answer)}, expected ${JSON.stringify(expected)}`,
  )

/** The answer if nothing has to be written; undefined if something must be. */
const withoutWriting = ({ request, wire }: Operation, caller: SimTenant, data: World): Answer | undefined => {
  if (request.kind === 'sweep' || wire === undefined) return undefined
  const tenant = data.tenants[request.tenant]!
  const rights = rightsOf(caller, request.as)
  const token = tenant.tokens.get(wire.params.id)
  const refused = (status: number): Answer => ({ status })
  switch (request.kind) {
    case 'create':
    case 'tokenize': {
      const definitions = definitionsOf(request)
      const containers = definitions.flatMap(
        definition => newToken(definition, { ...nobody, settings: caller.settings }).containers,
      )
      if (!canCreate(rights, containers)) return refused(403)
      const ids = definitions.map(chosenId).filter(id => id !== undefined)
      const isTaken = ids.some(id => isLiving(tenant.tokens.get(id), data.now))
      return isTaken ? refused(409) : undefined
    }
    case 'get': {
      const shown = isLiving(token, data.now) ? canSee(rights, token) : undefined
      return shown === undefined
        ? refused(404)
        : { status: 200, body: viewToken(tenant, token!, shown, data.now) }
    }
    case 'delete':
    case 'patch': {
      const moved = request.kind === 'patch' ? request.patch.containers : undefined
      const permission = request.kind === 'patch' ? 'token:update' : 'token:delete'
      if (request.kind === 'patch' && moved !== undefined) {
        const wanted = (wire.body as { containers: string[] }).containers
        if (!mayCreate(rights, permission, wanted)) return refused(403)
      }
      if (!isLiving(token, data.now)) return refused(404)
      const status = changeStatus(rights, permission, token.containers, 200)
      if (status !== 200) return refused(status)
      if (request.kind === 'patch' && isForbidden(caller, token, request)) return refused(403)
      return undefined
    }
    case 'usage':
      return { status: 200, body: usageOf(tenant, data.now) }
    case 'renewKey':
      if (tenant.isDeleted) return refused(404)
      return tenant.keys.size - keysOfOthers < clerkKeysMax ? undefined : refused(400)
    case 'revokeKey':
      return tenant.keys.has(wire.params.keyId) ? undefined : refused(404)
    default:
      return tenant.isDeleted ? refused(404) : undefined
  }
}

/** Owner, writer and manager keep their one key each. */
const keysOfOthers = 3
const clerkKeysMax = 10

/** C13: a caller who sees a token only in part cannot change what that means, nor move it to where they see more. */
const isForbidden = (
  caller: SimTenant,
  token: SimToken,
  request: Extract<Operation['request'], { kind: 'patch' }>,
): boolean => {
  const { patch } = request
  const rights = rightsOf(caller, request.as)
  const seen = canSee(rights, token)
  const moves =
    patch.containers !== undefined &&
    [...containersOf(token.type, patch.containers)].sort().join() !== [...token.containers].sort().join()
  if (
    (seen === 'mask' || seen === 'redact') &&
    (changesMaskOf(token, patch) || givesFirstFingerprint(token, patch) || moves)
  )
    return true
  if (patch.containers === undefined) return false
  const order = [undefined, 'redact', 'mask', 'reveal'] as const
  const after = canSee(rights, afterwards(caller, token, request))
  return order.indexOf(after) > order.indexOf(seen)
}

const afterwards = (
  caller: SimTenant,
  token: SimToken,
  { patch, as }: Extract<Operation['request'], { kind: 'patch' }>,
): SimToken => patchedToken(token, patch, { by: as, now: 0, settings: caller.settings, seesData: false })

const nobody = { id: '', by: 'owner', now: 0 } as const

const usageOf = (tenant: SimTenant, now: number): object => ({
  token_report: {
    metrics_by_type: Object.fromEntries(
      [...tenant.lastCreated].map(([type, at]) => [
        type,
        {
          count: livingTokens(tenant, now).filter(token => token.type === type).length,
          last_created_at: new Date(at).toISOString().replace('Z', '+00:00'),
        },
      ]),
    ),
    included_monthly_active_tokens: 0,
    monthly_active_tokens: tenant.active.get(monthOf(now)) ?? 0,
  },
})

/** What a match shows to the caller who met it (C15). */
const viewHit = (op: Operation, caller: SimTenant, data: World, match: SimToken): object => {
  const { request } = op
  if (request.kind === 'sweep') return {}
  const tenant = data.tenants[request.tenant]!
  const rights = rightsOf(caller, request.as)
  const permission = request.kind === 'patch' ? 'token:update' : 'token:create'
  const shown = writeTransformIn(rights, permission, match)
  const view =
    canSee(rights, match) === undefined
      ? viewUnreadable(tenant, match, shown)
      : viewToken(tenant, match, shown, data.now)
  return { ...view, _extras: { deduplicated: true } }
}

/** Every match that the definition may have met, as the caller would see it. */
const possibleHits = (op: Operation, caller: SimTenant, definition: Definition, range: Range): object[] => {
  const { request } = op
  if (request.kind === 'sweep' || !isDeduplicated(caller.settings, definition.deduplicate)) return []
  return range.flatMap(data => {
    const wanted = newToken(definition, { ...nobody, now: data.now, settings: caller.settings })
    return oldestMatches(data.tenants[request.tenant]!, data.now, wanted).map(match =>
      viewHit(op, caller, data, match),
    )
  })
}

const idOf = (body: unknown): unknown =>
  typeof body === 'string' ? body : (body as { id?: unknown } | undefined)?.id

/** The expected answer to a write, with the elements that met other tokens filled in from a world that explains them. */
const fillHits = (
  op: Operation,
  caller: SimTenant,
  answer: Answer,
  range: Range,
  isSame: (hit: unknown, shown: unknown) => boolean,
): unknown => {
  const { request } = op
  const expected = op.expected?.body
  if (request.kind === 'create' && expected === undefined)
    return possibleHits(op, caller, request.definition, range).find(hit => isSame(hit, answer.body))
  if (request.kind === 'patch' && expected === undefined)
    return patchHits(op, caller, range).find(hit => isSame(hit, answer.body))
  if (request.kind !== 'tokenize') return expected
  const answered = answer.body as unknown[]
  return definitionsOf(request).map((definition, index) => {
    const known = (expected as unknown[])[index]
    if (known !== undefined) return known
    const hit = possibleHits(op, caller, definition, range).find(one => isSame(one, answered[index]))
    const isText = request.text !== undefined && index === 0
    return isText ? idOf(hit) : hit
  })
}

/** Whether deduplication explains the answer without any write. */
const isHit = (
  op: Operation,
  caller: SimTenant,
  answer: Answer,
  range: Range,
  isIt: (expected: Answer) => boolean,
): boolean => {
  const { request } = op
  if (request.kind === 'create' && answer.status === 201)
    return possibleHits(op, caller, request.definition, range).some(body => isIt({ status: 201, body }))
  if (request.kind === 'patch' && answer.status === 200)
    return patchHits(op, caller, range).some(body => isIt({ status: 200, body }))
  if (request.kind !== 'tokenize' || answer.status !== 200) return false
  const answered = answer.body as unknown[]
  return definitionsOf(request).every((definition, index) =>
    possibleHits(op, caller, definition, range).some(hit => idOf(hit) === idOf(answered[index])),
  )
}

/** The other tokens that a patch would have made this one equal to, as the caller would see them. */
const patchHits = (op: Operation, caller: SimTenant, range: Range): object[] => {
  const { request, wire } = op
  if (request.kind !== 'patch' || wire === undefined) return []
  return range.flatMap(data => {
    const tenant = data.tenants[request.tenant]!
    const before = tenant.tokens.get(wire.params.id)
    if (!isLiving(before, data.now)) return []
    const after = patchedBy(op, caller, before, data.now)
    return patchMatches(caller, tenant, before, after, request.patch.deduplicate, data.now)
      .filter(({ id }) => id !== after.id)
      .map(match => viewHit(op, caller, data, match))
  })
}

export const patchedBy = (op: Operation, caller: SimTenant, before: SimToken, now: number): SimToken => {
  const { request } = op
  if (request.kind !== 'patch') return before
  const seesData = canSee(rightsOf(caller, request.as), before) === 'reveal'
  return patchedToken(before, request.patch, { by: request.as, now, settings: caller.settings, seesData })
}

/** C15: the oldest tokens that stand for what the patch turns this one into; it may be among them. */
export const patchMatches = (
  caller: SimTenant,
  tenant: SimTenant,
  before: SimToken,
  after: SimToken,
  flag: boolean | null | undefined,
  now: number,
): SimToken[] => {
  if (!isDeduplicated(caller.settings, after.deduplicate)) return []
  // Two equal tokens stay two, if the setting came later than they, or one of them was blind (C13) when the other came.
  const asOfNow = {
    ...before,
    isFingerprinted: after.isFingerprinted,
    hasBlindMask: after.hasBlindMask,
    hasBlindFingerprint: after.hasBlindFingerprint,
  }
  if (isSameMatch(asOfNow, after) && flag === undefined) return []
  return oldestMatches(tenant, now, after)
}

const pageSize = 100

/**
 * A list is read in parts, so while others write, each token may be from a different moment. Tokens that existed all
 * the time must be in it, those that never did must not, and each token must look as it did at some moment.
 */
const judgeList = (
  op: Operation,
  caller: SimTenant,
  answer: Answer,
  range: Range,
  tenantId: string,
  fingerprints: Fingerprints,
): void => {
  const { request } = op
  if (request.kind !== 'list' && request.kind !== 'cursor' && request.kind !== 'search') return
  const rights = rightsOf(caller, request.as)
  const visible = range.map(data => {
    const tenant = data.tenants[request.tenant]!
    const tokens = livingTokens(tenant, data.now).filter(
      token =>
        canSee(rights, token) !== undefined &&
        (request.kind !== 'search' || readShows(rights, token.containers, 'token:search') !== undefined) &&
        (request.type === undefined || token.type === request.type) &&
        (request.tag === undefined || token.tag === request.tag),
    )
    return new Map(
      tokens.map(token => [
        token.id,
        { token, view: viewToken(tenant, token, canSee(rights, token)!, data.now) },
      ]),
    )
  })
  const fail = (why: string): never => {
    throw new Unexplained(
      `${why}: ${JSON.stringify(request)} was answered ${JSON.stringify(answer)}, expected ${JSON.stringify(visible.map(one => [...one.values()]))}`,
    )
  }
  if (answer.status !== 200) fail('no list')
  const { data, pagination } = answer.body as {
    data: { id: string; created_at: string }[]
    pagination: { total_items?: number }
  }
  for (const shown of data)
    if (
      !visible.some(one => {
        const known = one.get(shown.id)
        return known !== undefined && fingerprints.isSame(known.view, shown, tenantId)
      })
    )
      fail(`${shown.id} looked so at no moment`)
  const ids = data.map(({ id }) => id)
  if (new Set(ids).size < ids.length) fail('a token is there twice')
  const isOnePage = visible.every(one => one.size <= pageSize)
  for (const id of isOnePage ? visible[0]!.keys() : [])
    if (visible.every(one => isDeepStrictEqual(one.get(id), visible[0]!.get(id))) && !ids.includes(id))
      fail(`${id} is missing`)
  const inOrder = [...data].sort((a, b) =>
    a.created_at === b.created_at ? (a.id < b.id ? -1 : 1) : a.created_at < b.created_at ? 1 : -1,
  )
  if (range.length === 1 && !isDeepStrictEqual(data, inOrder)) fail('not newest first')
  if (pagination.total_items !== undefined)
    if (!visible.some(one => one.size === pagination.total_items)) fail('total_items')
}
