import { operatorLog } from '../../store/rows.ts'

/** Whose log it is: a tenant's, or that of the operator, for what belongs to no tenant. A caller and an unlocked tenant are owners. */
export type LogOwner = { readonly tenantNumber: number; readonly keys: { readonly tenantId: string } }

export const theOperator: LogOwner = { tenantNumber: operatorLog, keys: { tenantId: 'operator' } }
