import type { Issue } from '../errors.ts'
import { getOwn, isJsonObject, type Json, type JsonObject } from '../json/json.ts'
import { limits } from '../limits.ts'
import { type DestinationPattern, readDestinationPattern } from '../outbound/destination-pattern.ts'
import type { OutboundPorts } from '../outbound/destination-url.ts'
import { element, field } from '../place.ts'
import { didYouMean } from '../text/did-you-mean.ts'
import { parseContainerOrRoot } from '../tokens/containers.ts'
import type { Application, Rule, Transform } from './application.ts'
import { type ApplicationType, otherNames, type Permission, permissionsByType } from './permissions.ts'

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
  readonly destinations?: readonly string[]
}

/**
 * C28: permissions that the type may hold, flat or in rules with unique priorities. Faults become issues at their place. Without a
 * type, permissions of any type are allowed.
 */
export const readHeld = (
  type: ApplicationType | undefined,
  fields: GrantFields,
  ports: OutboundPorts,
  issues: Issue[],
): Held => {
  const flat = fields.permissions ?? []
  const rules = fields.rules ?? []
  if (flat.length > 0 && rules.length > 0)
    issues.push({ path: 'rules', message: 'must not be given together with permissions' })
  if (type === 'management' && rules.length > 0)
    issues.push({ path: 'rules', message: 'are not for management applications; use permissions' })
  return {
    permissions: readPermissions(type, flat, 'permissions', issues),
    rules: readRules(type, rules, ports, issues),
  }
}

/**
 * The faults that `readHeld` can find in a body of the wrong shape, so that its sender learns of all faults at once. Missing fields and
 * fields of the wrong type are replaced by invalid ones, because the check of the shape has already reported them.
 */
export const grantFaults = (body: JsonObject, issues: Issue[]): void => {
  const type = applicationTypes.find(known => known === getOwn(body, 'type'))
  const rules = listOf(getOwn(body, 'rules'), limits.rulesPerApplication).map((rule): RuleFields => {
    const sent = isJsonObject(rule) ? rule : {}
    const priority = getOwn(sent, 'priority')
    return {
      priority: typeof priority === 'number' ? priority : Number.NaN,
      container: textOf(getOwn(sent, 'container')),
      transform: 'redact',
      permissions: permissionsOf(sent),
      ...('destinations' in sent && { destinations: destinationsOf(sent) }),
    }
  })
  // Which ports the operator allows is known only to the operation.
  readHeld(type, { permissions: permissionsOf(body), rules }, { has: () => true }, issues)
}

const applicationTypes = Object.keys(permissionsByType) as ApplicationType[]
const listOf = (value: Json | undefined, most: number): Json[] =>
  Array.isArray(value) ? value.slice(0, most) : []
const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const permissionsOf = (object: JsonObject): string[] =>
  listOf(getOwn(object, 'permissions'), limits.permissionsMax).map(textOf)

const destinationsOf = (object: JsonObject): string[] =>
  listOf(getOwn(object, 'destinations'), limits.destinationsPerRule).map(textOf)

const readRules = (
  type: ApplicationType | undefined,
  rules: readonly RuleFields[],
  ports: OutboundPorts,
  issues: Issue[],
): Rule[] => {
  const priorities = new Set<number>()
  const read = rules.map((rule, index): Rule => {
    const place = element('rules', index)
    if (priorities.has(rule.priority))
      issues.push({ path: field(place, 'priority'), message: 'must not be the priority of another rule' })
    priorities.add(rule.priority)
    const container = parseContainerOrRoot(rule.container, field(place, 'container'), issues)
    const permissions = readPermissions(type, rule.permissions, field(place, 'permissions'), issues)
    if (rule.destinations !== undefined && !permissions.includes('token:use'))
      issues.push({ path: field(place, 'destinations'), message: 'are only for rules that hold token:use' })
    return {
      ...(rule.description && { description: rule.description }),
      priority: rule.priority,
      container: container ?? '/',
      transform: rule.transform,
      permissions,
      ...(rule.destinations && {
        destinations: readDestinations(rule.destinations, field(place, 'destinations'), ports, issues),
      }),
    }
  })
  return read.sort((a, b) => a.priority - b.priority)
}

const readDestinations = (
  texts: readonly string[],
  place: string,
  ports: OutboundPorts,
  issues: Issue[],
): DestinationPattern[] =>
  texts.flatMap((text, index) => {
    const { url, fault } = readDestinationPattern(text, ports)
    if (fault !== undefined) issues.push({ path: element(place, index), message: fault })
    return url ?? []
  })

const readPermissions = (
  type: ApplicationType | undefined,
  permissions: readonly string[],
  place: string,
  issues: Issue[],
): Permission[] => {
  const allowed: readonly Permission[] =
    type === undefined ? Object.values(permissionsByType).flat() : permissionsByType[type]
  const holder = type === undefined ? '' : ` that a ${type} application may hold`
  const read: Permission[] = []
  permissions.forEach((text, index) => {
    const permission = allowed.find(known => known === text || known === otherNames[text])
    const path = element(place, index)
    if (permission === undefined)
      issues.push({ path, message: `is not a permission${holder}${didYouMean(text, allowed)}` })
    else if (read.includes(permission)) issues.push({ path, message: 'must not be repeated' })
    else read.push(permission)
  })
  return read
}
