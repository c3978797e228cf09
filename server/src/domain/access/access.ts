import { covers } from '../tokens/containers.ts'
import type { Application, Rule } from './application.ts'
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

/** The first rule by priority that covers the container and holds the permission. */
export const decidingRule = (
  application: Application,
  permission: Permission,
  container: string,
): Rule | undefined =>
  rulesOf(application).find(
    rule => rule.permissions.includes(permission) && covers(rule.container, container),
  )

/** A write needs a rule for every destination container. */
export const coversEvery = (
  application: Application,
  permission: Permission,
  containers: readonly string[],
): boolean => containers.every(container => decidingRule(application, permission, container) !== undefined)

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
