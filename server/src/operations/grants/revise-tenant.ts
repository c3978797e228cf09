import type { ActDetails } from '../../domain/acts/act.ts'
import type { Json } from '../../domain/json/json.ts'
import type { Effect } from '../../store/write-set.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'
import { commit } from '../writing/commit.ts'
import { grantsName, retryOnConflict } from '../writing/retry-on-conflict.ts'
import { requireStillGranted } from './grant-checks.ts'
import { type Grants, loadGrants } from './load-grants.ts'

export type Revision<A extends Json> = {
  readonly effects: readonly Effect[]
  readonly answer: A
  /** What a replay shows, if that is not the answer itself. */
  readonly kept?: Json
  /** What its record names and shows. */
  readonly record: Pick<ActDetails, 'entityId' | 'fields' | 'before' | 'after'>
}

/**
 * Changes who may do what: reads all grants, decides, and writes only if none of them has changed since. Every change goes
 * through here, so decisions that depend on several rows (the last management key) hold.
 */
export const reviseTenant = <A extends Json>(
  vault: Vault,
  caller: Caller,
  decide: (grants: Grants) => Revision<A>,
  idempotent?: Idempotent,
): Promise<A> =>
  retryOnConflict(vault, grantsName(caller), async () => {
    const { grants, revision } = await loadGrants(vault, caller)
    // The revision is not sealed. A value that no commit can expect would prevent the revocation of a stolen key. The next
    // attempt finds a valid one.
    if (revision < 1) await vault.store.mendNumbers(caller.tenantNumber)
    requireStillGranted(caller, grants, vault.clock())
    const { effects, answer, kept, record } = decide(grants)
    caller.act.says(record)
    const outcome = await commit(
      vault,
      caller,
      {
        tenant: caller.tenantNumber,
        guarded: [{ kind: 'reviseTenant', ifRevision: revision }],
        effects,
        counters: [],
      },
      kept ?? answer,
      idempotent,
    )
    return { outcome, answer }
  })
