import type { Store } from '../../store/port.ts'
import { operatorLog } from '../../store/rows.ts'

/** Whose log it is: a tenant's, or that of the operator, for what belongs to no tenant. A caller and an unlocked tenant are owners. */
export type LogOwner = { readonly tenantNumber: number; readonly keys: { readonly tenantId: string } }

export const theOperator: LogOwner = { tenantNumber: operatorLog, keys: { tenantId: 'operator' } }

const ownersAtOnce = 100

/** Everybody who has a log: the operator, tenants, and those that were deleted (L7). */
export async function* logOwners(store: Pick<Store, 'listLogOwners'>): AsyncGenerator<LogOwner> {
  yield theOperator
  for (let after = 0; ; ) {
    const owners = await store.listLogOwners(after, ownersAtOnce)
    for (const { tenant, id } of owners) yield { tenantNumber: tenant, keys: { tenantId: id } }
    const last = owners.at(-1)
    if (last === undefined) return
    after = last.tenant
  }
}
