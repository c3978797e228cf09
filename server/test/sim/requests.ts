import type { Rule } from '../../src/domain/access/application.ts'
import type { Seeded } from '../rig/seeded.ts'

/** The actors of the simulation; every tenant has one of each. */
export const roles = ['owner', 'writer', 'clerk', 'manager'] as const
export type Role = (typeof roles)[number]

const everything = ['token:create', 'token:read', 'token:update', 'token:delete', 'token:search'] as const

/** What each role may do. The clerk's rules are exchanged while the simulation runs. */
export const ownerRules: readonly Rule[] = [
  { priority: 1, container: '/', transform: 'reveal', permissions: everything },
]
export const writerPermissions = ['token:create', 'token:update'] as const
export const clerkRules: readonly (readonly Rule[])[] = [
  [{ priority: 1, container: '/', transform: 'mask', permissions: everything }],
  [
    { priority: 1, container: '/a/', transform: 'reveal', permissions: everything },
    { priority: 2, container: '/', transform: 'redact', permissions: ['token:read', 'token:create'] },
  ],
  [
    {
      priority: 1,
      container: '/a/b/',
      transform: 'mask',
      permissions: ['token:read', 'token:update', 'token:create'],
    },
    {
      priority: 2,
      container: '/general/',
      transform: 'reveal',
      permissions: ['token:read', 'token:search'],
    },
  ],
]

/** The small alphabet that all tokens are made of: with so few values, tokens often coincide. */
export const texts = ['alpha-1111', 'beta-2222', 'gamma-3333', 'tiny'] as const
export const numbers = ['4242424242424242', '4111111111111111', '5555555555554444'] as const
export const tags = ['red', 'blue'] as const
export const containerLists = [['/a/'], ['/a/b/'], ['/a/', '/z/'], ['/a/b/', '/z/']] as const
export const callersMask = '{{ data | reveal_last: 4 }}'

export type SimType = 'token' | 'card'
export type Definition = {
  readonly type: SimType
  readonly value: number
  /** One of a few chosen ids of the type; if absent, the vault assigns one. */
  readonly id?: number
  readonly cvc?: string
  readonly isMasked?: true
  readonly containers?: number
  readonly tag?: number
  readonly livesMs?: number
  readonly deduplicate?: boolean
}

export type Patch = {
  readonly value?: number
  readonly cvc?: string
  readonly mask?: 'caller' | 'nobody'
  readonly containers?: number
  readonly tag?: number | null
  readonly livesMs?: number | null
  readonly deduplicate?: boolean | null
}

type By = {
  readonly tenant: number
  readonly as: Role
  /** Which of the keys that the role ever had, newest first. */
  readonly key: number
  /** The number of its idempotency key. */
  readonly once?: number
}

/** A request to the vault; `token` is the position of a token among all that were ever known. */
export type Request =
  | ({ readonly kind: 'create'; readonly definition: Definition } & By)
  | ({
      readonly kind: 'tokenize'
      readonly text?: number
      readonly definitions: readonly Definition[]
    } & By)
  | ({ readonly kind: 'get'; readonly token: number } & By)
  | ({
      readonly kind: 'list' | 'cursor' | 'search'
      readonly type?: SimType
      readonly tag?: number
    } & By)
  | ({ readonly kind: 'patch'; readonly token: number; readonly patch: Patch } & By)
  | ({ readonly kind: 'delete'; readonly token: number } & By)
  | ({ readonly kind: 'usage' } & By)
  | ({ readonly kind: 'settings'; readonly fingerprint: boolean; readonly deduplicate: boolean } & By)
  | ({ readonly kind: 'grant'; readonly rules: number } & By)
  | ({ readonly kind: 'renewKey' } & By)
  | ({ readonly kind: 'revokeKey' } & By)
  | ({ readonly kind: 'deleteTenant' } & By)
  | { readonly kind: 'sweep' }

/** Requests under way together, and what happens to them. Everything else follows from it. */
export type Round = {
  readonly advanceMs: number
  readonly requests: readonly Request[]
  /** Seeds the order in which storage calls are carried out, and the faults among them. */
  readonly schedule: number
  /** How many of a hundred storage calls fail. */
  readonly faultsPercent: number
  /** The process dies after this many storage calls, and a new one opens what is there. */
  readonly diesAfter?: number
}

const hour = 3_600_000
const jumps = [0, 0, 0, 1, 1_000, 60_000, hour / 2, hour, 25 * hour, 31 * 24 * hour]

export const makeRound = (random: Seeded): Round => {
  const chance = (percent: number): boolean => random.below(100) < percent
  return {
    advanceMs: jumps[random.below(jumps.length)] ?? 0,
    requests: makeRequests(random, random.between(1, 4)),
    schedule: random.below(2 ** 31),
    faultsPercent: chance(25) ? 8 : 0,
    ...(chance(3) && { diesAfter: random.below(12) }),
  }
}

/** Some are sent twice: two equal requests at the same moment are the likeliest to collide. */
const makeRequests = (random: Seeded, count: number): Request[] => {
  const requests: Request[] = []
  while (requests.length < count) {
    const request = makeRequest(random)
    requests.push(request)
    if (random.below(100) < 15) requests.push(request)
  }
  return requests
}

const makeRequest = (random: Seeded): Request => {
  const chance = (percent: number): boolean => random.below(100) < percent
  const by = (as: Role, mayRepeat = false) => ({
    tenant: random.below(2),
    as,
    key: chance(90) ? 0 : random.below(3),
    ...(mayRepeat && chance(30) && { once: random.below(4) }),
  })
  const anyone = (): Role => random.pick(['owner', 'owner', 'writer', 'clerk', 'clerk', 'manager'] as const)!
  const token = random.below(1_000)
  const pick = random.below(100)
  if (pick < 28) return { kind: 'create', ...by(anyone(), true), definition: makeDefinition(random) }
  if (pick < 34)
    return {
      kind: 'tokenize',
      ...by(anyone(), true),
      ...(chance(50) && { text: random.below(texts.length) }),
      definitions: Array.from({ length: random.between(1, 3) }, () => makeDefinition(random)),
    }
  if (pick < 44) return { kind: 'get', ...by(anyone()), token }
  if (pick < 52)
    return {
      kind: random.pick(['list', 'cursor', 'search'] as const)!,
      ...by(random.pick(['owner', 'clerk'] as const)!),
      ...(chance(50) && { type: random.pick(['token', 'card'] as const)! }),
      ...(chance(30) && { tag: random.below(tags.length) }),
    }
  if (pick < 72) return { kind: 'patch', ...by(anyone(), true), token, patch: makePatch(random) }
  if (pick < 82) return { kind: 'delete', ...by(anyone()), token }
  if (pick < 86) return { kind: 'usage', ...by(chance(90) ? 'manager' : anyone()) }
  if (pick < 88)
    return { kind: 'settings', ...by('manager', true), fingerprint: chance(70), deduplicate: chance(40) }
  if (pick < 91) return { kind: 'grant', ...by('manager', true), rules: random.below(clerkRules.length) }
  if (pick < 93) return { kind: 'renewKey', ...by('manager') }
  if (pick < 95) return { kind: 'revokeKey', ...by('manager') }
  // Often enough to keep tenants small: a list shows all of their tokens.
  if (pick < 96) return { kind: 'deleteTenant', ...by('manager') }
  return { kind: 'sweep' }
}

const makeDefinition = (random: Seeded): Definition => {
  const chance = (percent: number): boolean => random.below(100) < percent
  const type = chance(65) ? 'token' : 'card'
  return {
    type,
    value: random.below(type === 'token' ? texts.length : numbers.length),
    ...(chance(30) && { id: random.below(3) }),
    ...(type === 'card' && chance(60) && { cvc: String(random.between(100, 999)) }),
    ...(type === 'token' && chance(50) && { isMasked: true as const }),
    ...(chance(50) && { containers: random.below(containerLists.length) }),
    ...(chance(30) && { tag: random.below(tags.length) }),
    ...(chance(25) && { livesMs: random.pick([1_000, 120_000, hour, 24 * hour])! }),
    ...(chance(40) && { deduplicate: chance(70) }),
  }
}

const makePatch = (random: Seeded): Patch => {
  const chance = (percent: number): boolean => random.below(100) < percent
  return {
    ...(chance(40) && { value: random.below(3) }),
    ...(chance(20) && { cvc: String(random.between(100, 999)) }),
    ...(chance(15) && { mask: chance(60) ? ('caller' as const) : ('nobody' as const) }),
    ...(chance(20) && { containers: random.below(containerLists.length) }),
    ...(chance(25) && { tag: chance(70) ? random.below(tags.length) : null }),
    ...(chance(15) && { livesMs: chance(60) ? random.pick([1_000, hour])! : null }),
    ...(chance(20) && { deduplicate: chance(20) ? null : chance(70) }),
  }
}
