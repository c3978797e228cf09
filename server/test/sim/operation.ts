import type { HandledId } from '../../src/http/handlers.ts'
import { type Definition, type Patch, type Request, type SimType, tags, texts } from './requests.ts'
import {
  chosenId,
  containersOf,
  dataOf,
  holds,
  rightsOf,
  type SimTenant,
  type SimToken,
  type World,
} from './world.ts'

/** A request under way, and everything known about it. */
export type Operation = {
  readonly request: Request
  readonly wire: Wire | undefined
  /** Where in the history of worlds it began. */
  readonly from: number
  /** The caller's tenant as the vault read it; undefined until then. */
  caller?: SimTenant
  /** The index of the world that its own write led to. */
  wroteAt?: number
  /** The answer that the write leads to; elements that met another token are left open. */
  expected?: { status: number; body: unknown }
  isAnswered: boolean
  /** Storage failed while it was under way. */
  metFault: boolean
  /** Idempotency keys of other requests under way at the same time. */
  readonly rivals: Set<string>
}

/** A request as it would be sent over HTTP. */
export type Wire = {
  readonly endpoint: HandledId
  readonly method: string
  readonly path: string
  readonly params: { readonly id: string; readonly keyId: string }
  readonly query: readonly { name: string; value: string }[]
  readonly body: unknown
  /** Names the answer that is kept for a repetition. */
  readonly resultName: string | undefined
  readonly keyId: string
  readonly keyText: string
}

/** What the simulation remembers besides the world: texts that only answers reveal. */
export type Memory = {
  /** Keys whose text is known, newest first, by tenant and role. */
  keysOf(tenant: number, role: string): readonly { id: string; text: string }[]
  /** Every id that a token ever had. */
  knownIds(tenant: number): readonly string[]
  /** A number that was not used before. */
  fresh(): number
}

const typeOfId = (world: World, id: string): SimType | undefined =>
  id.startsWith('card-')
    ? 'card'
    : id.startsWith('token-')
      ? 'token'
      : world.tenants.map(tenant => tenant.tokens.get(id)?.type).find(type => type !== undefined)

const definitionBody = (definition: Definition, now: number) => ({
  type: definition.type,
  data: {
    token: texts[definition.value],
    card: { ...(dataOf(definition) as object), ...(definition.cvc && { cvc: definition.cvc }) },
  }[definition.type],
  ...(definition.id !== undefined && { id: chosenId(definition) }),
  ...(definition.isMasked && { mask: '{{ data | reveal_last: 4 }}' }),
  ...(definition.containers !== undefined && {
    containers: containersOf(definition.type, definition.containers),
  }),
  ...(definition.tag !== undefined && { metadata: { tag: tags[definition.tag] } }),
  ...(definition.livesMs !== undefined && { expires_at: new Date(now + definition.livesMs).toISOString() }),
  ...(definition.deduplicate !== undefined && { deduplicate_token: definition.deduplicate }),
})

const patchBody = (patch: Patch, type: SimType, now: number) => {
  const data =
    type === 'token'
      ? patch.value === undefined
        ? undefined
        : texts[patch.value]
      : patch.value === undefined && patch.cvc === undefined
        ? undefined
        : {
            ...(patch.value !== undefined && (dataOf({ type, value: patch.value }) as object)),
            ...(patch.cvc !== undefined && { cvc: patch.cvc }),
          }
  return {
    ...(data !== undefined && { data }),
    ...(type === 'token' &&
      patch.mask !== undefined && {
        mask: patch.mask === 'nobody' ? null : '{{ data | reveal_last: 4 }}',
      }),
    ...(patch.containers !== undefined && { containers: containersOf(type, patch.containers) }),
    ...(patch.tag !== undefined && { metadata: patch.tag === null ? null : { tag: tags[patch.tag] } }),
    ...(patch.livesMs !== undefined && {
      expires_at: patch.livesMs === null ? null : new Date(now + patch.livesMs).toISOString(),
    }),
    ...(patch.deduplicate !== undefined && { deduplicate_token: patch.deduplicate }),
  }
}

/** The request with everything filled in that depends on what happened before it. */
export const begin = (asked: Request, world: World, from: number, memory: Memory): Operation => {
  const base = { from, isAnswered: false, metFault: false, rivals: new Set<string>() }
  if (asked.kind === 'sweep') return { ...base, request: asked, wire: undefined }
  const request = named(asked, memory)
  const tenant = world.tenants[request.tenant]!
  const keys = memory.keysOf(request.tenant, request.as)
  const { id: keyId, text: keyText } = keys[request.key % keys.length]!
  const wire = (endpoint: HandledId, method: string, path: string, more: Partial<Wire> = {}): Operation => ({
    ...base,
    request,
    wire: {
      endpoint,
      method,
      path,
      params: { id: '', keyId: '' },
      query: [],
      body: undefined,
      resultName: request.once === undefined ? undefined : `${request.as} ${method} ${path} ${request.once}`,
      keyId,
      keyText,
      ...more,
    },
  })
  const ofToken = (endpoint: HandledId, method: string, token: number, body?: (id: string) => unknown) => {
    const ids = memory.knownIds(token % 7 === 0 ? 1 - request.tenant : request.tenant)
    const id = ids[token % Math.max(1, ids.length)] ?? 'token-none'
    return wire(endpoint, method, `/tokens/${id}`, { params: { id, keyId: '' }, body: body?.(id) })
  }
  const { clerk } = tenant.applicationIds
  switch (request.kind) {
    case 'create':
      return wire('createToken', 'POST', '/tokens', { body: definitionBody(request.definition, world.now) })
    case 'tokenize':
      return wire('tokenize', 'POST', '/tokenize', {
        body: [
          ...(request.text === undefined ? [] : [texts[request.text]]),
          ...request.definitions.map(definition => definitionBody(definition, world.now)),
        ],
      })
    case 'get':
      return ofToken('getToken', 'GET', request.token)
    case 'delete':
      return ofToken('deleteToken', 'DELETE', request.token)
    case 'patch':
      return ofToken('updateToken', 'PATCH', request.token, id =>
        patchBody(request.patch, typeOfId(world, id) ?? 'token', world.now),
      )
    case 'list':
    case 'cursor': {
      const query = [
        { name: 'size', value: '100' },
        ...(request.type === undefined ? [] : [{ name: 'type', value: request.type }]),
        ...(request.tag === undefined ? [] : [{ name: 'metadata.tag', value: tags[request.tag]! }]),
      ]
      return request.kind === 'list'
        ? wire('listTokens', 'GET', '/tokens', { query })
        : wire('listTokensByCursor', 'GET', '/v2/tokens', { query })
    }
    case 'search': {
      const terms = [
        ...(request.type === undefined ? ['(type:token OR type:card)'] : [`type:${request.type}`]),
        ...(request.tag === undefined ? [] : [`metadata.tag:${tags[request.tag]}`]),
      ]
      const body = { query: terms.join(' AND '), size: 100 }
      return wire('searchTokens', 'POST', '/tokens/search', { body })
    }
    case 'usage':
      return wire('getUsage', 'GET', '/tenants/self/reports/usage')
    case 'settings':
      return wire('updateTenant', 'PUT', '/tenants/self', {
        body: {
          name: 'Simulated',
          settings: {
            fingerprint_tokens: String(request.fingerprint),
            deduplicate_tokens: String(request.deduplicate),
          },
        },
      })
    case 'grant':
      return wire('updateApplication', 'PUT', `/applications/${clerk}`, {
        params: { id: clerk, keyId: '' },
        body: { name: 'clerk', rules: rulesOf(tenant, request.rules) },
      })
    case 'renewKey':
      return wire('createApiKey', 'POST', `/applications/${clerk}/keys`, {
        params: { id: clerk, keyId: '' },
        body: {},
      })
    case 'revokeKey': {
      const oldest = memory.keysOf(request.tenant, 'clerk').at(-1)!
      return wire('deleteApiKey', 'DELETE', `/applications/${clerk}/keys/${oldest.id}`, {
        params: { id: clerk, keyId: oldest.id },
      })
    }
    case 'deleteTenant':
      return wire('deleteTenant', 'DELETE', '/tenants/self')
  }
}

const rulesOf = (tenant: SimTenant, clerk: number) => rightsOf({ ...tenant, clerk }, 'clerk').rules

/** Gives the elements of a payload distinct ids, so that a write shows which of them it created. */
const named = <R extends Request>(request: R, memory: Memory): R => {
  if (request.kind !== 'tokenize') return request
  const used = new Set<string | undefined>([undefined])
  const definitions = request.definitions.map(definition => {
    const own = used.has(chosenId(definition)) ? { ...definition, id: memory.fresh() } : definition
    used.add(chosenId(own))
    return own
  })
  return { ...request, definitions }
}

/** The definitions of a create or a tokenize, in the order of the answer. */
export const definitionsOf = (request: Request): readonly Definition[] => {
  if (request.kind === 'create') return [request.definition]
  if (request.kind !== 'tokenize') return []
  const text: Definition[] = request.text === undefined ? [] : [{ type: 'token', value: request.text }]
  return [...text, ...request.definitions]
}

export const isPermitted = (tenant: SimTenant, { request }: Operation): boolean => {
  if (request.kind === 'sweep') return true
  const needed = {
    create: 'token:create',
    tokenize: 'token:create',
    get: 'token:read',
    list: 'token:read',
    cursor: 'token:read',
    search: 'token:search',
    patch: 'token:update',
    delete: 'token:delete',
  } as const
  if (Object.hasOwn(needed, request.kind))
    return holds(rightsOf(tenant, request.as), needed[request.kind as keyof typeof needed])
  return request.as === 'manager'
}

export type { SimToken }
