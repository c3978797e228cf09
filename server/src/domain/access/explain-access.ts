import { type Destination, decidingRule, holds, transformFor, writeTransformIn } from './access.ts'
import type { Application, Rule, Transform } from './application.ts'
import type { Permission } from './permissions.ts'
import { decideUse } from './use.ts'

/** The outcome for one container, and the rule that decides it. */
export type ContainerExplanation = {
  readonly container: string
  readonly outcome: Transform | 'none'
  readonly reason: string
  readonly rule?: Rule
}

export type AccessExplanation = {
  readonly outcome: Transform | 'allowed' | 'refused'
  readonly reason: string
  readonly containers: readonly ContainerExplanation[]
}

const reading: readonly Permission[] = ['token:read', 'token:search']

/** Answers "Why was I denied?": the decision of access.ts, step by step. */
export const explainAccess = (
  application: Application,
  permission: Permission,
  containers: readonly string[],
  destination?: Destination,
): AccessExplanation => {
  const explained = containers.map(container =>
    explainContainer(application, permission, container, destination),
  )
  const outcome =
    permission === 'token:use'
      ? concludeUse(application, containers, destination)
      : conclude(application, permission, containers)
  return { ...outcome, containers: explained }
}

const explainContainer = (
  application: Application,
  permission: Permission,
  container: string,
  destination: Destination | undefined,
): ContainerExplanation => {
  const rule = decidingRule(application, permission, container, destination)
  if (rule === undefined) {
    const elsewhere = decidingRule(application, permission, container, 'anywhere')
    return {
      container,
      outcome: 'none',
      reason:
        elsewhere === undefined
          ? `no rule covers ${container} and holds ${permission}`
          : `the rule of priority ${elsewhere.priority} on ${elsewhere.container} holds ${permission}, but only for its destinations`,
    }
  }
  if (application.rules.length === 0)
    return {
      container,
      outcome: rule.transform,
      reason: `the application holds ${permission} flat: every container, transform mask`,
    }
  return {
    container,
    outcome: rule.transform,
    reason: `the rule of priority ${rule.priority} on ${rule.container} is the first that covers ${container} and holds ${permission}`,
    rule,
  }
}

const conclude = (
  application: Application,
  permission: Permission,
  containers: readonly string[],
): Omit<AccessExplanation, 'containers'> => {
  if (!holds(application, permission))
    return { outcome: 'refused', reason: `403: the application holds ${permission} nowhere` }
  if (reading.includes(permission)) return concludeReading(application, permission, containers)
  const uncovered = uncoveredOf(application, permission, containers)
  if (uncovered.length === 0) {
    const shown = writeTransformIn(application, permission, containers)
    return {
      outcome: 'allowed',
      reason: `a rule holds ${permission} on every container${permission === 'token:delete' ? '' : `; answers show ${shown}`}`,
    }
  }
  const isThere = permission === 'token:create' || uncovered.length < containers.length
  return {
    outcome: 'refused',
    reason: isThere
      ? `403: a write needs a rule for every container; none covers ${uncovered.join(', ')}`
      : '404: no rule covers any of the containers',
  }
}

/** U11: refusals are named as the proxy names them. */
const concludeUse = (
  application: Application,
  containers: readonly string[],
  destination: Destination | undefined,
): Omit<AccessExplanation, 'containers'> => {
  const use = decideUse(application, containers, destination)
  switch (use.outcome) {
    case 'allowed':
      return {
        outcome: 'allowed',
        reason: `a rule holds token:use on every container: the proxy sends the whole value; ${
          use.isRevealed
            ? 'token:read shows it under reveal, so expressions may use all filters but hmac'
            : 'it may not be read, so expressions may only select by path, render whole and use card_exp'
        }`,
      }
    case 'permission_denied':
      return { outcome: 'refused', reason: 'permission_denied: the application holds token:use nowhere' }
    case 'destination_forbidden':
      return {
        outcome: 'refused',
        reason:
          destination === undefined
            ? 'destination_forbidden, unless the destination is one that the rules are for; ask with a destination'
            : 'destination_forbidden: the rules that hold token:use are for other destinations',
      }
    case 'token_not_found':
      return {
        outcome: 'refused',
        reason: `token_not_found: no rule holds token:use on ${containers
          .filter(container => decidingRule(application, 'token:use', container, 'anywhere') === undefined)
          .join(', ')}`,
      }
  }
}

/** C26: a search shows what `token:read` shows, and finds nothing that a read would not. */
const concludeReading = (
  application: Application,
  permission: Permission,
  containers: readonly string[],
): Omit<AccessExplanation, 'containers'> => {
  const lacking = [permission, 'token:read' as const].find(
    needed => transformFor(application, needed, containers) === undefined,
  )
  const transform = transformFor(application, 'token:read', containers)
  if (lacking !== undefined || transform === undefined)
    return {
      outcome: 'refused',
      reason: `404, and absent from lists and searches: no rule holds ${lacking} on any of the containers`,
    }
  const uncovered = uncoveredOf(application, 'token:read', containers)
  if (uncovered.length > 0)
    return {
      outcome: 'redact',
      reason: `a container without a rule counts as redact: ${uncovered.join(', ')}`,
    }
  return { outcome: transform, reason: 'the least revealing of the containers decides' }
}

const uncoveredOf = (
  application: Application,
  permission: Permission,
  containers: readonly string[],
): string[] => containers.filter(container => decidingRule(application, permission, container) === undefined)
