/** Points in the program at which it can be told to die. */
export const points = [
  'in-batch',
  'before-commit',
  'in-commit',
  'after-commit',
  'before-answer',
  'before-call',
  'after-call',
  'in-sweeper',
  'in-checkpoint',
  'in-migration',
] as const

export type Point = (typeof points)[number]

/** What a process is started with: a clock that is ahead, and where it dies. */
export type KillOrder = {
  readonly engine: 'sqlite' | 'postgres' | 'citus'
  readonly clockMs?: number
  readonly point?: Point
  /** Dies the n-th time it passes the point. */
  readonly pass?: number
  /** How long after a commit or checkpoint began, at points that last. */
  readonly delayMs?: number
}

export const orderVariable = 'CRASH_ORDER'

/** The environment that passes the order to a process, its threads and its workers. */
export const orderTo = (order: KillOrder): Record<string, string> => ({
  [orderVariable]: JSON.stringify(order),
  NODE_OPTIONS: `--import=${new URL('./kill-points.ts', import.meta.url).href}`,
})
