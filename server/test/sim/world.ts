import { mayCreate, type OracleApplication, readShows, type Shown, writeShows } from '../rig/access-oracle.ts'
import {
  callersMask,
  clerkRules,
  containerLists,
  type Definition,
  numbers,
  ownerRules,
  type Patch,
  type Role,
  type SimType,
  tags,
  texts,
  writerPermissions,
} from './requests.ts'

/**
 * What the vault holds, modelled a second time as plainly as possible. A world never changes: each write makes the next
 * one, so that an answer can be compared with every world that existed while its request was under way.
 */
export type World = { readonly now: number; readonly tenants: readonly SimTenant[] }

export type SimTenant = {
  readonly id: string
  readonly applicationIds: Readonly<Record<Role, string>>
  readonly isDeleted: boolean
  readonly settings: { readonly fingerprint: boolean; readonly deduplicate: boolean }
  /** Which of the clerk's rule sets is in force. */
  readonly clerk: number
  /** Ids of the API keys that exist. */
  readonly keys: ReadonlySet<string>
  readonly tokens: ReadonlyMap<string, SimToken>
  readonly results: ReadonlyMap<string, KeptAnswer>
  /** Active tokens by month. */
  readonly active: ReadonlyMap<number, number>
  /** When a token of the type was last created. */
  readonly lastCreated: ReadonlyMap<SimType, number>
}

export type SimToken = {
  readonly id: string
  readonly type: SimType
  readonly value: number
  readonly cvc?: { readonly digits: string; readonly until: number }
  readonly mask: 'type' | 'caller' | 'nobody'
  /** C13: set by someone who could not read the token. */
  readonly hasBlindMask: boolean
  readonly hasBlindFingerprint: boolean
  readonly containers: readonly string[]
  readonly tag?: number
  readonly expiresAt?: number
  readonly deduplicate?: boolean
  readonly isFingerprinted: boolean
  /** Whether it claimed its value under deduplication. */
  readonly isClaimant: boolean
  readonly activeMonth: number
  readonly createdBy: Role
  readonly createdAt: number
  readonly modifiedBy?: Role
  readonly modifiedAt?: number
}

/** `body` is known once it was seen. If the answer was lost on its way, that is at the first repetition. */
export type KeptAnswer = { readonly status: number; body?: unknown; readonly until: number }

const hour = 3_600_000
export const cvcLifetimeMs = hour
export const keptMs = 24 * hour

export const monthOf = (now: number): number => {
  const date = new Date(now)
  return date.getUTCFullYear() * 100 + date.getUTCMonth() + 1
}

const flat = (permissions: readonly string[]): OracleApplication => ({
  rules: permissions.length === 0 ? [] : [{ container: '/', transform: 'mask', permissions }],
})

/** What the role may do at this moment. */
export const rightsOf = (tenant: SimTenant, role: Role): OracleApplication => {
  if (role === 'owner') return { rules: ownerRules }
  if (role === 'clerk') return { rules: clerkRules[tenant.clerk] ?? [] }
  return flat(role === 'writer' ? writerPermissions : [])
}

export const holds = (rights: OracleApplication, permission: string): boolean =>
  rights.rules.some(rule => rule.permissions.includes(permission))

export const isLiving = (token: SimToken | undefined, now: number): token is SimToken =>
  token !== undefined && (token.expiresAt === undefined || token.expiresAt > now)

export const livingTokens = (tenant: SimTenant, now: number): SimToken[] =>
  [...tenant.tokens.values()].filter(token => isLiving(token, now))

/** The properties that deduplication compares. */
const essence = ({ type, value, containers }: SimToken): string =>
  JSON.stringify([type, value, [...containers].sort()])

/** The tokens that stand for the same value: the oldest, or several created at the same moment. */
export const oldestMatches = (tenant: SimTenant, now: number, wanted: SimToken): SimToken[] => {
  if (isBlind(wanted) || !wanted.isFingerprinted) return []
  const equal = livingTokens(tenant, now).filter(
    token => token.isFingerprinted && !isBlind(token) && essence(token) === essence(wanted),
  )
  const first = Math.min(...equal.map(token => token.createdAt))
  return equal.filter(token => token.createdAt === first)
}

export const isSameMatch = (a: SimToken, b: SimToken): boolean =>
  a.isFingerprinted && b.isFingerprinted && !isBlind(a) && !isBlind(b) && essence(a) === essence(b)

export const isDeduplicated = (settings: SimTenant['settings'], flag: boolean | undefined): boolean =>
  flag ?? settings.deduplicate

const defaultContainer: Record<SimType, string> = { token: '/general/high/', card: '/pci/high/' }

export const containersOf = (type: SimType, list: number | undefined): readonly string[] =>
  list === undefined ? [defaultContainer[type]] : containerLists[list]!

export const chosenId = ({ type, id }: Definition): string | undefined =>
  id === undefined ? undefined : `${type}-${id}`

/** A token as the definition asks for it; `settings` are those its author acted under. */
export const newToken = (
  definition: Definition,
  made: { id: string; by: Role; now: number; settings: SimTenant['settings'] },
): SimToken => ({
  id: made.id,
  type: definition.type,
  value: definition.value,
  ...(definition.cvc !== undefined && {
    cvc: { digits: definition.cvc, until: made.now + cvcLifetimeMs },
  }),
  mask: definition.isMasked ? 'caller' : 'type',
  hasBlindMask: false,
  hasBlindFingerprint: false,
  containers: containersOf(definition.type, definition.containers),
  ...(definition.tag !== undefined && { tag: definition.tag }),
  ...(definition.livesMs !== undefined && { expiresAt: made.now + definition.livesMs }),
  ...(definition.deduplicate !== undefined && { deduplicate: definition.deduplicate }),
  isFingerprinted: made.settings.fingerprint || isDeduplicated(made.settings, definition.deduplicate),
  isClaimant: isDeduplicated(made.settings, definition.deduplicate),
  activeMonth: monthOf(made.now),
  createdBy: made.by,
  createdAt: made.now,
})

export const isBlind = ({ hasBlindMask, hasBlindFingerprint }: SimToken): boolean =>
  hasBlindMask || hasBlindFingerprint

/** Setting the value already in force is no change (C13), and the type `token` has no mask of its own. */
export const changesMaskOf = (token: SimToken, { mask }: Patch): boolean =>
  token.type === 'token' && mask !== undefined && mask !== (token.mask === 'type' ? 'nobody' : token.mask)

/** C13: a wish for deduplication makes a fingerprint, unless the patch brings all of the data itself. */
export const givesFirstFingerprint = (token: SimToken, { deduplicate, value }: Patch): boolean =>
  deduplicate === true && !token.isFingerprinted && (token.type === 'card' || value === undefined)

/** The token as the patch leaves it, regardless of who sends it. */
export const patchedToken = (
  token: SimToken,
  patch: Patch,
  made: { by: Role; now: number; settings: SimTenant['settings']; seesData: boolean },
): SimToken => {
  const isCard = token.type === 'card'
  const { cvc, tag, expiresAt, deduplicate, ...rest } = token
  const isTagged = patch.tag === undefined ? tag : (patch.tag ?? undefined)
  const until = patch.livesMs === undefined ? expiresAt : patch.livesMs && made.now + patch.livesMs
  const flag = patch.deduplicate === undefined ? deduplicate : (patch.deduplicate ?? undefined)
  const newCvc =
    isCard && patch.cvc !== undefined ? { digits: patch.cvc, until: made.now + cvcLifetimeMs } : cvc
  const setsMask = !isCard && patch.mask !== undefined
  const changesMask = changesMaskOf(token, patch)
  const patched = {
    ...rest,
    value: patch.value ?? token.value,
    ...(newCvc && { cvc: newCvc }),
    mask: changesMask ? patch.mask! : token.mask,
    hasBlindMask: setsMask && made.seesData ? false : token.hasBlindMask || changesMask,
    hasBlindFingerprint: token.hasBlindFingerprint || (!made.seesData && givesFirstFingerprint(token, patch)),
    containers:
      patch.containers === undefined ? token.containers : containersOf(token.type, patch.containers),
    ...(isTagged !== undefined && { tag: isTagged }),
    ...(until && { expiresAt: until }),
    ...(flag !== undefined && { deduplicate: flag }),
    isFingerprinted:
      // A patch about deduplication may take away the last reason for a fingerprint (C14). Otherwise a fingerprint that
      // nothing asks for any more stays while it fits the value it was made from.
      (patch.deduplicate === undefined &&
        token.isFingerprinted &&
        (patch.value ?? token.value) === token.value) ||
      made.settings.fingerprint ||
      isDeduplicated(made.settings, flag),
    modifiedBy: made.by,
    modifiedAt: made.now,
  }
  const claims = isDeduplicated(made.settings, flag)
  const isSame = isSameMatch(token, patched)
  const isLooking = !isSame || patch.deduplicate !== undefined
  // One that was blind leaves the claim to an equal token that came meanwhile.
  const isClaimant = isSame ? token.isClaimant || (claims && isLooking) : claims && !isBlind(token)
  return { ...patched, isClaimant }
}

/**
 * The matches that block a write under deduplication. One that appeared while the request was under way, and did not
 * ask for deduplication itself, may just as well have come after it.
 */
export const matchesInTheWay = (
  matches: readonly SimToken[],
  tenantBefore: SimTenant | undefined,
): SimToken[] =>
  matches.filter(match => {
    const before = tenantBefore?.tokens.get(match.id)
    return match.isClaimant || (before !== undefined && isSameMatch(before, match))
  })

export const canSee = (rights: OracleApplication, token: SimToken): Shown | undefined =>
  readShows(rights, token.containers)

export const canCreate = (rights: OracleApplication, containers: readonly string[]): boolean =>
  mayCreate(rights, 'token:create', containers)

const time = (at: number): string => new Date(at).toISOString().replace('Z', '+00:00')
const hidden = (text: string): string =>
  text.length <= 4 ? 'X'.repeat(text.length) : 'X'.repeat(text.length - 4) + text.slice(-4)

export const dataOf = ({ type, value }: Pick<SimToken, 'type' | 'value'>): unknown =>
  type === 'card' ? { number: numbers[value] } : texts[value]

/** Stands for the text of a fingerprint, which the model cannot know: equal values have equal marks. */
const fingerprintMark = ({ type, value }: SimToken): string => `fingerprint of ${type} ${value}`

const masked = (token: SimToken): unknown => {
  if (token.mask === 'nobody') return undefined
  if (token.mask === 'caller') return hidden(texts[token.value]!)
  return token.type === 'card' ? { number: hidden(numbers[token.value]!) } : undefined
}

/** C12: a token as answers show it. */
export const viewToken = (tenant: SimTenant, token: SimToken, shown: Shown, now: number): object => {
  const whole =
    token.cvc !== undefined && token.cvc.until > now
      ? { ...(dataOf(token) as object), cvc: token.cvc.digits }
      : dataOf(token)
  const behindMask = shown === 'redact' ? undefined : masked(token)
  return present({
    ...head(tenant, token, shown),
    data: shown === 'reveal' ? whole : behindMask,
    mask: token.mask === 'caller' ? callersMask : token.mask === 'type' ? behindMask : undefined,
    metadata: token.tag === undefined ? undefined : { tag: tags[token.tag] },
    fingerprint_expression: token.type === 'card' ? '{{ data.number }}' : '{{ data | stringify }}',
    expires_at: token.expiresAt === undefined ? undefined : time(token.expiresAt),
    modified_by: token.modifiedBy && tenant.applicationIds[token.modifiedBy],
    modified_at: token.modifiedAt === undefined ? undefined : time(token.modifiedAt),
  })
}

/** C15: everything a match shows to a caller who may not read it. */
export const viewUnreadable = (tenant: SimTenant, token: SimToken, shown: Shown): object =>
  present(head(tenant, token, shown))

const head = (tenant: SimTenant, token: SimToken, shown: Shown) => ({
  id: token.id,
  type: token.type,
  tenant_id: tenant.id,
  fingerprint: shown === 'redact' || !token.isFingerprinted ? undefined : fingerprintMark(token),
  containers: token.containers,
  created_by: tenant.applicationIds[token.createdBy],
  created_at: time(token.createdAt),
})

const present = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** C12, C13: what the answer to a write shows. */
export const writeTransformIn = (rights: OracleApplication, permission: string, token: SimToken): Shown =>
  isBlind(token) && canSee(rights, token) === undefined
    ? 'redact'
    : writeShows(rights, permission, token.containers)

/** Text in a patch replaces all data, and callers may see what they have just sent (§2.1.22). */
export const shownByPatch = (rights: OracleApplication, patch: Patch, after: SimToken): Shown =>
  after.type === 'token' && patch.value !== undefined
    ? writeShows(rights, 'token:update', after.containers)
    : writeTransformIn(rights, 'token:update', after)

/** A copy of the world with one tenant changed. */
export const withTenant = (world: World, index: number, change: Partial<SimTenant>): World => ({
  ...world,
  tenants: world.tenants.map((tenant, at) => (at === index ? { ...tenant, ...change } : tenant)),
})

export const withToken = (tenant: SimTenant, token: SimToken): Pick<SimTenant, 'tokens'> => ({
  tokens: new Map(tenant.tokens).set(token.id, token),
})

export const withoutToken = (tenant: SimTenant, id: string): Pick<SimTenant, 'tokens'> => {
  const tokens = new Map(tenant.tokens)
  tokens.delete(id)
  return { tokens }
}
