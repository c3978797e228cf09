import { operatorLog } from '../../store/rows.ts'

/** Whose log it is: a tenant's, or that of the operator, for what belongs to no tenant. */
export type LogOwner = { readonly tenantNumber: number; readonly tenantId: string }

export const theOperator: LogOwner = { tenantNumber: operatorLog, tenantId: 'operator' }
