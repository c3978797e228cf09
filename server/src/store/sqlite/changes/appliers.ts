import type { Conflict, Effect, GuardedChange } from '../../write-set.ts'

/** Each answers with the condition that failed, if one did; no statement raises on a condition. */
export type Guards<K extends GuardedChange['kind']> = {
  readonly [Kind in K]: (
    tenant: number,
    change: Extract<GuardedChange, { kind: Kind }>,
  ) => Conflict | undefined
}

export type Effects<K extends Effect['kind']> = {
  readonly [Kind in K]: (tenant: number, effect: Extract<Effect, { kind: Kind }>) => void
}

/** A condition is part of its statement, which then changes nothing. */
export const unlessChanged = (
  { changes }: { changes: number | bigint },
  conflict: Conflict,
): Conflict | undefined => (changes === 0 ? conflict : undefined)
