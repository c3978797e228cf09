/**
 * C28, C12 and C13 written a second time, as plainly as possible and without any of the vault's own code: what the
 * access suites compare the vault with.
 */
export type Shown = 'reveal' | 'mask' | 'redact'
export type OracleRule = { container: string; transform: Shown; permissions: readonly string[] }

/** Rules in order of priority. */
export type OracleApplication = { rules: readonly OracleRule[] }

const order: readonly Shown[] = ['redact', 'mask', 'reveal']
const least = (shown: readonly Shown[]): Shown =>
  order.find(transform => shown.includes(transform)) ?? 'reveal'

const segments = (path: string): string[] =>
  path
    .toLowerCase()
    .split('/')
    .filter(part => part !== '')

/** Whether the rule's container is the token's, or lies on the path from the root to it. */
const isOnTheWay = (rule: string, container: string): boolean => {
  const way = segments(container)
  return segments(rule).every((part, depth) => way[depth] === part)
}

const firstRule = (application: OracleApplication, permission: string, container: string) => {
  for (const rule of application.rules)
    if (rule.permissions.includes(permission) && isOnTheWay(rule.container, container)) return rule
  return undefined
}

/** What a read of a token in these containers shows; undefined if the token does not exist for the caller. */
export const readShows = (
  application: OracleApplication,
  containers: readonly string[],
  permission = 'token:read',
): Shown | undefined => {
  const deciding = containers.map(container => firstRule(application, permission, container))
  if (deciding.every(rule => rule === undefined)) return undefined
  return least(deciding.map(rule => rule?.transform ?? 'redact'))
}

/** What the answer to a permitted write shows. */
export const writeShows = (
  application: OracleApplication,
  permission: string,
  containers: readonly string[],
): Shown => {
  const byTheRule = readShows(application, containers, permission)
  const byReading = readShows(application, containers)
  return least(['mask', byTheRule ?? 'redact', ...(byReading === undefined ? [] : [byReading])])
}

export const mayCreate = (
  application: OracleApplication,
  permission: string,
  containers: readonly string[],
): boolean => containers.every(container => firstRule(application, permission, container) !== undefined)

/** The expected status of updating or deleting an existing token; `done` is that of success. */
export const changeStatus = (
  application: OracleApplication,
  permission: string,
  containers: readonly string[],
  done: number,
): number => {
  if (!application.rules.some(rule => rule.permissions.includes(permission))) return 403
  const covered = containers.filter(container => firstRule(application, permission, container) !== undefined)
  if (covered.length === 0) return 404
  return covered.length === containers.length ? done : 403
}
