import type { DatabaseSync } from 'node:sqlite'
import type { Conflict, Effect, GuardedChange } from '../../../write-set.ts'
import type { WaitingWrites } from '../waiting-writes.ts'
import type { Effects, Guards } from './appliers.ts'
import { grantEffects, tenantGuards } from './tenant-changes.ts'
import { tokenEffects, tokenGuards } from './token-changes.ts'

export type ApplyChanges = {
  guarded(tenant: number, change: GuardedChange): Conflict | undefined
  /** `isNew` tells whether the same set has inserted a token. */
  effect(tenant: number, effect: Effect, isNew: (tokenId: string) => boolean): void
}

/** Holds the prepared statements for every kind of change. */
export const changeApplier = (database: DatabaseSync, waiting: WaitingWrites): ApplyChanges => {
  const guards: Guards<GuardedChange['kind']> = { ...tokenGuards(database), ...tenantGuards(database) }
  const effects: Effects<Effect['kind']> = { ...tokenEffects(database, waiting), ...grantEffects(database) }

  // The types ensure that both tables are complete. Only the link between a kind and its change is lost in the look-up.
  return {
    guarded: (tenant, change) =>
      (guards[change.kind] as (tenant: number, change: GuardedChange) => Conflict | undefined)(
        tenant,
        change,
      ),
    effect: (tenant, effect, isNew) =>
      (effects[effect.kind] as ApplyChanges['effect'])(tenant, effect, isNew),
  }
}
