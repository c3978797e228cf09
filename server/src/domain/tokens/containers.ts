import type { Issue } from '../errors.ts'
import { limits } from '../limits.ts'
import { element } from '../place.ts'

/** The containers of a token (C19), lower-cased here and nowhere else; faults go to `issues`. */
export const parseContainers = (value: readonly string[], place: string, issues: Issue[]): string[] => {
  if (value.length === 0 || value.length > limits.containersPerToken) {
    issues.push({ path: place, message: `must hold 1 to ${limits.containersPerToken} containers` })
    return []
  }
  const containers = new Set<string>()
  for (const [index, text] of value.entries()) {
    const container = parseContainer(text, element(place, index), issues)
    if (container === undefined) continue
    if (containers.has(container))
      issues.push({ path: element(place, index), message: 'must not be repeated' })
    else containers.add(container)
  }
  return [...containers]
}

/** The container of an access rule, a filter or a search, which covers everything below it: `/` alone covers all. */
export const parseContainerOrRoot = (value: string, place: string, issues: Issue[]): string | undefined =>
  value === '/' ? value : parseContainer(value, place, issues)

/** A rule on `/a/` covers `/a/` and `/a/b/` but not `/ab/`: the closing slash is part of both. */
export const covers = (rule: string, container: string): boolean => container.startsWith(rule)

/** From the root down to the container itself: `/a/b/` has `/`, `/a/` and `/a/b/`. */
export const ancestors = (container: string): string[] => {
  const found: string[] = []
  for (let at = container.indexOf('/'); at !== -1; at = container.indexOf('/', at + 1))
    found.push(container.slice(0, at + 1))
  return found
}

const segments = /^\/(?:[A-Za-z0-9_-]+\/)+$/

const parseContainer = (text: string, place: string, issues: Issue[]): string | undefined => {
  const message = containerFault(text)
  if (message !== undefined) {
    issues.push({ path: place, message })
    return undefined
  }
  return text.toLowerCase()
}

// The check comes before the lower-casing, which would turn the Kelvin sign into a `k`.
const containerFault = (text: string): string | undefined => {
  if (text.length > limits.containerCharactersMax)
    return `must have at most ${limits.containerCharactersMax} characters`
  if (!segments.test(text))
    return 'must start and end with / and have segments of letters, digits, _ and - in between'
  if (ancestors(text).length - 1 > limits.containerLevels)
    return `must have at most ${limits.containerLevels} levels`
  return undefined
}
