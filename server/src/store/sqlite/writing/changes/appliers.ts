import type { Conflict, Effect, GuardedChange } from '../../../write-set.ts'

/** Each returns the conflict if its condition failed. No statement raises an error over a condition. */
export type Guards<K extends GuardedChange['kind']> = {
  readonly [Kind in K]: (
    tenant: number,
    change: Extract<GuardedChange, { kind: Kind }>,
  ) => Conflict | undefined
}

export type Effects<K extends Effect['kind']> = {
  readonly [Kind in K]: (
    tenant: number,
    effect: Extract<Effect, { kind: Kind }>,
    /** Whether the same set has inserted the token. */
    isNew: (tokenId: string) => boolean,
  ) => void
}

/** The condition is part of the statement, which changes nothing if it fails. */
export const unlessChanged = (
  { changes }: { changes: number | bigint },
  conflict: Conflict,
): Conflict | undefined => (changes === 0 ? conflict : undefined)
