import type { Issue } from '../errors.ts'
import { element, field } from '../place.ts'
import { parseContainerOrRoot } from '../tokens/containers.ts'
import type { Transform } from '../tokens/transform.ts'
import type { Application, Rule } from './application.ts'
import { type ApplicationType, type Permission, permissionsByType } from './permissions.ts'

type Held = Pick<Application, 'permissions' | 'rules'>

/** What an application asks for, once its shape is known to be right. */
export type GrantFields = {
  readonly permissions?: readonly string[]
  readonly rules?: readonly RuleFields[]
}

type RuleFields = {
  readonly description?: string | null
  readonly priority: number
  readonly container: string
  readonly transform: Transform
  readonly permissions: readonly string[]
}

/** C28: permissions that the type may hold, flat or in rules of unique priority; faults become issues at their place. */
export const readHeld = (type: ApplicationType, fields: GrantFields, issues: Issue[]): Held => {
  const flat = fields.permissions ?? []
  const rules = fields.rules ?? []
  if (flat.length > 0 && rules.length > 0)
    issues.push({ path: 'rules', message: 'must not be given together with permissions' })
  if (type === 'management' && rules.length > 0)
    issues.push({ path: 'rules', message: 'are not for management applications; use permissions' })
  return {
    permissions: readPermissions(type, flat, 'permissions', issues),
    rules: readRules(type, rules, issues),
  }
}

const readRules = (type: ApplicationType, rules: readonly RuleFields[], issues: Issue[]): Rule[] => {
  const priorities = new Set<number>()
  const read = rules.map((rule, index): Rule => {
    const place = element('rules', index)
    if (priorities.has(rule.priority))
      issues.push({ path: field(place, 'priority'), message: 'must not be the priority of another rule' })
    priorities.add(rule.priority)
    const container = parseContainerOrRoot(rule.container, field(place, 'container'), issues)
    return {
      ...(rule.description && { description: rule.description }),
      priority: rule.priority,
      container: container ?? '/',
      transform: rule.transform,
      permissions: readPermissions(type, rule.permissions, field(place, 'permissions'), issues),
    }
  })
  return read.sort((a, b) => a.priority - b.priority)
}

const readPermissions = (
  type: ApplicationType,
  permissions: readonly string[],
  place: string,
  issues: Issue[],
): Permission[] => {
  const allowed: readonly Permission[] = permissionsByType[type]
  const read: Permission[] = []
  permissions.forEach((text, index) => {
    const permission = allowed.find(known => known === text)
    const path = element(place, index)
    if (permission === undefined)
      issues.push({ path, message: `is not a permission that a ${type} application may hold` })
    else if (read.includes(permission)) issues.push({ path, message: 'must not be repeated' })
    else read.push(permission)
  })
  return read
}
