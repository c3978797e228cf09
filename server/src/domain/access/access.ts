import { VaultError } from '../errors.ts'
import { type DestinationPattern, isUnder } from '../outbound/destination-pattern.ts'
import { covers } from '../tokens/containers.ts'
import { isBlind, type Token } from '../tokens/token.ts'
import type { Application, Rule, Transform } from './application.ts'
import type { Permission } from './permissions.ts'

/** C28: flat permissions are one rule that covers every container under `mask`. */
const flatRule = (permissions: readonly Permission[]): Rule => ({
  priority: 0,
  container: '/',
  transform: 'mask',
  permissions,
})

const rulesOf = (application: Application): readonly Rule[] =>
  application.rules.length > 0 ? application.rules : [flatRule(application.permissions)]

/** Does the application hold the permission on any container at all? */
export const holds = (application: Application, permission: Permission): boolean =>
  application.rules.length > 0
    ? application.rules.some(rule => rule.permissions.includes(permission))
    : application.permissions.includes(permission)

/** The final URL of a request that would take a token's value with it. */
export type Destination = Pick<DestinationPattern, 'host' | 'port' | 'path'>

/** `anywhere`: which destinations a rule is for makes no difference. */
type Whereto = Destination | 'anywhere'

/**
 * The first rule by priority that covers the container and holds the permission. A rule that is for other destinations is skipped when
 * a token is to be used, and without a destination every rule that is for some (U11).
 */
export const decidingRule = (
  application: Application,
  permission: Permission,
  container: string,
  whereto?: Whereto,
): Rule | undefined =>
  rulesOf(application).find(
    rule =>
      rule.permissions.includes(permission) &&
      covers(rule.container, container) &&
      (permission !== 'token:use' || isFor(rule, whereto)),
  )

const isFor = ({ destinations }: Rule, whereto: Whereto | undefined): boolean =>
  destinations === undefined ||
  whereto === 'anywhere' ||
  (whereto !== undefined && destinations.some(pattern => isUnder(pattern, whereto)))

/** A write needs a rule for every destination container. */
export const coversEvery = (
  application: Application,
  permission: Permission,
  containers: readonly string[],
  whereto?: Whereto,
): boolean =>
  containers.every(container => decidingRule(application, permission, container, whereto) !== undefined)

/** The containers under which the caller finds tokens, without those that another one covers. */
export const grantedRoots = (application: Application, permission: Permission): string[] => {
  const containers = new Set(
    rulesOf(application)
      .filter(rule => rule.permissions.includes(permission))
      .map(rule => rule.container),
  )
  return [...containers].filter(
    container => ![...containers].some(other => other !== container && covers(other, container)),
  )
}

/** Whether the application may see some token under `redact`: a rule says so, or a container may have no rule. */
export const mayRedact = (application: Application, permission: Permission): boolean => {
  const rules = rulesOf(application).filter(rule => rule.permissions.includes(permission))
  return !rules.some(rule => rule.container === '/') || rules.some(rule => rule.transform === 'redact')
}

const revelation: Record<Transform, number> = { redact: 0, mask: 1, reveal: 2 }

export const lessRevealing = (a: Transform, b: Transform): Transform =>
  revelation[a] <= revelation[b] ? a : b

export const isMoreRevealing = (a: Transform | undefined, b: Transform | undefined): boolean =>
  a !== undefined && (b === undefined || revelation[a] > revelation[b])

/** How much a caller sees, and the priority of the rule that says so; none where flat permissions or a container without a rule do. */
export type Decision = { readonly transform: Transform; readonly rule: number | undefined }

/**
 * What the caller sees of a token in these containers, or undefined where no rule covers any of them.
 * The least revealing container wins, and one without a rule counts as `redact`.
 */
export const decisionFor = (
  application: Application,
  permission: Permission,
  containers: readonly string[],
  whereto?: Whereto,
): Decision | undefined => {
  let transform: Transform | undefined
  let priority: number | undefined
  let covered = false
  for (const container of containers) {
    const rule = decidingRule(application, permission, container, whereto)
    if (rule !== undefined) covered = true
    const here = rule?.transform ?? 'redact'
    if (transform !== undefined && revelation[here] >= revelation[transform]) continue
    transform = here
    priority = application.rules.length > 0 ? rule?.priority : undefined
  }
  return covered && transform !== undefined ? { transform, rule: priority } : undefined
}

export const transformFor = (
  application: Application,
  permission: Permission,
  containers: readonly string[],
): Transform | undefined => decisionFor(application, permission, containers)?.transform

/**
 * C12: the answer to a write shows the token under its mask or nothing, never the data itself, and nothing to a caller
 * that reads the token under `redact` (C13).
 */
export const writeTransformIn = (
  application: Application,
  permission: Permission,
  containers: readonly string[],
): Transform => {
  const granted = transformFor(application, permission, containers) ?? 'redact'
  const read = transformFor(application, 'token:read', containers)
  return lessRevealing('mask', lessRevealing(granted, read ?? granted))
}

export const readTransform = (
  application: Application,
  containers: readonly string[],
): Transform | undefined => transformFor(application, 'token:read', containers)

/** C13: a blind mask or fingerprint shows nothing to a caller who cannot read the token. */
export const writeTransform = (application: Application, permission: Permission, token: Token): Transform =>
  isBlind(token) && readTransform(application, token.containers) === undefined
    ? 'redact'
    : writeTransformIn(application, permission, token.containers)

/** What the answer to a write shows, and the rule that allows the write. */
export const writeDecision = (application: Application, permission: Permission, token: Token): Decision => ({
  transform: writeTransform(application, permission, token),
  rule: decisionFor(application, permission, token.containers)?.rule,
})

/** C28: a write needs a rule for every destination container. */
export const requireDestinations = (
  application: Application,
  permission: Permission,
  containers: readonly string[],
): void => {
  if (!coversEvery(application, permission, containers))
    throw new VaultError('forbidden', { detail: 'A target container is not writable by the application.' })
}

/** A token that no rule covers does not exist for the caller. A token that rules cover only in part may not be changed. */
export const requireCovered = (application: Application, permission: Permission, token: Token): void => {
  if (transformFor(application, permission, token.containers) === undefined) throw new VaultError('notFound')
  if (!coversEvery(application, permission, token.containers))
    throw new VaultError('forbidden', {
      detail: 'A container of the token is not writable by the application.',
    })
}
