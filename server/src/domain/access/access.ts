import { covers } from '../tokens/containers.ts'
import type { Transform } from '../tokens/transform.ts'
import type { Application, Rule } from './application.ts'
import type { Permission } from './permissions.ts'

/** C28: flat permissions are one rule that covers every container under `mask`. */
const flatRule = (permissions: readonly Permission[]): Rule => ({
  priority: 0,
  container: '/',
  transform: 'mask',
  permissions,
})

const grants = (application: Application): readonly Rule[] =>
  application.rules.length > 0 ? application.rules : [flatRule(application.permissions)]

/** Does the application hold the permission on any container at all? */
export const holds = (application: Application, permission: Permission): boolean =>
  application.rules.length > 0
    ? application.rules.some(rule => rule.permissions.includes(permission))
    : application.permissions.includes(permission)

/** The first rule by priority that covers the container and holds the permission. */
export const decidingRule = (
  application: Application,
  permission: Permission,
  container: string,
): Rule | undefined =>
  grants(application).find(rule => rule.permissions.includes(permission) && covers(rule.container, container))

const revelation: Record<Transform, number> = { redact: 0, mask: 1, reveal: 2 }

export const lessRevealing = (a: Transform, b: Transform): Transform =>
  revelation[a] <= revelation[b] ? a : b

export const isMoreRevealing = (a: Transform | undefined, b: Transform | undefined): boolean =>
  a !== undefined && (b === undefined || revelation[a] > revelation[b])

/**
 * What the caller sees of a token in these containers, or undefined where no rule covers any of them.
 * The least revealing container wins, and one without a rule counts as `redact`.
 */
export const transformFor = (
  application: Application,
  permission: Permission,
  containers: readonly string[],
): Transform | undefined => {
  let transform: Transform = 'reveal'
  let covered = false
  for (const container of containers) {
    const rule = decidingRule(application, permission, container)
    if (rule !== undefined) covered = true
    transform = lessRevealing(transform, rule?.transform ?? 'redact')
  }
  return covered ? transform : undefined
}

/**
 * C12: the answer to a write shows the token under its mask or nothing, never the data itself, and nothing to a caller
 * that reads the token under `redact` (C13).
 */
export const shownByWrite = (
  application: Application,
  permission: Permission,
  containers: readonly string[],
): Transform => {
  const granted = transformFor(application, permission, containers) ?? 'redact'
  const read = transformFor(application, 'token:read', containers)
  return lessRevealing('mask', lessRevealing(granted, read ?? granted))
}

/** A write needs a rule for every destination container. */
export const coversEvery = (
  application: Application,
  permission: Permission,
  containers: readonly string[],
): boolean => containers.every(container => decidingRule(application, permission, container) !== undefined)

/** The containers under which the caller finds tokens, without those that another one covers. */
export const grantedRoots = (application: Application, permission: Permission): string[] => {
  const containers = new Set(
    grants(application)
      .filter(rule => rule.permissions.includes(permission))
      .map(rule => rule.container),
  )
  return [...containers].filter(
    container => ![...containers].some(other => other !== container && covers(other, container)),
  )
}

/** Whether the application may see some token under `redact`: a rule says so, or a container may have no rule. */
export const mayRedact = (application: Application, permission: Permission): boolean => {
  const rules = grants(application).filter(rule => rule.permissions.includes(permission))
  return !rules.some(rule => rule.container === '/') || rules.some(rule => rule.transform === 'redact')
}
