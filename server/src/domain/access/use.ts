import { covers } from '../tokens/containers.ts'
import { coversEvery, type Decision, type Destination, decisionFor, holds, readTransform } from './access.ts'
import type { Application, Rule } from './application.ts'

/** Whether a caller may have a token's value sent to a destination without seeing it (U11). */
export type UseDecision =
  | { readonly outcome: 'allowed'; readonly decision: Decision; readonly isRevealed: boolean }
  | { readonly outcome: UseRefusal }

/** As the proxy names its own errors (U15). A token that may not be used is like one that does not exist. */
export type UseRefusal = 'permission_denied' | 'token_not_found' | 'destination_forbidden'

/** `token:use` must be held on every container, by rules that are for the destination. Without one, only rules for all of them count. */
export const decideUse = (
  application: Application,
  containers: readonly string[],
  destination: Destination | undefined,
): UseDecision => {
  if (!mayUseSome(application)) return { outcome: 'permission_denied' }
  if (coversEvery(application, 'token:use', containers, destination)) {
    const decision = decisionFor(application, 'token:use', containers, destination)
    if (decision !== undefined)
      return { outcome: 'allowed', decision, isRevealed: isRevealedTo(application, containers) }
  }
  return {
    outcome: coversEvery(application, 'token:use', containers, 'anywhere')
      ? 'destination_forbidden'
      : 'token_not_found',
  }
}

export const mayUseSome = (application: Application): boolean => holds(application, 'token:use')

/** Whether GET would show the token whole: then its pieces tell the caller nothing, and its answers need no guard (U11, U14). */
export const isRevealedTo = (application: Application, containers: readonly string[]): boolean =>
  readTransform(application, containers) === 'reveal'

/**
 * Whether a move would let the application use a token where it could not before: by holding `token:use` on all containers only
 * afterwards, or for further destinations.
 */
export const gainsUse = (
  application: Application,
  before: readonly string[],
  after: readonly string[],
): boolean => {
  if (!coversEvery(application, 'token:use', after, 'anywhere')) return false
  if (application.rules.length === 0) return false
  const using = application.rules.filter(({ permissions }) => permissions.includes('token:use'))
  const usingIn = (container: string): Rule[] => using.filter(rule => covers(rule.container, container))
  // Each container before must have been usable for all that some container is usable for now.
  return !before.every(container => {
    const then = usingIn(container)
    return (
      then.some(({ destinations }) => destinations === undefined) ||
      after.some(other => usingIn(other).every(rule => then.includes(rule)))
    )
  })
}
