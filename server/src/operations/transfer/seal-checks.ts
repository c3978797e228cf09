import { openReport, openResult } from '../../crypto/data-seal.ts'
import type { TenantKeys } from '../../crypto/keys.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import * as columns from '../../store/columns.ts'
import { type CopyTarget, namedColumns, type PlainRow } from '../../store/copying.ts'
import { tableNamed } from '../../store/tables.ts'
import { openDelivery } from '../delivering/delivery-rows.ts'
import { openApiKey, openApplication, openTenant } from '../grants/grant-rows.ts'
import { openResources } from '../grants/resource-rows.ts'
import { openTokenRow } from '../tokens/token-rows.ts'
import type { CopiedKeys } from './copied-keys.ts'

/** Returns the rows that differ from what was sealed. */
export type SealCheck = (rows: readonly PlainRow[]) => Promise<PlainRow[]>

/** One check per table that holds sealed data. `loadCopiedKeys` checks the wrapped keys, which only the provider opens. */
export const sealChecks = (keys: CopiedKeys, target: CopyTarget): Readonly<Record<string, SealCheck>> => {
  const eachRow = (name: string, open: (row: columns.Columns) => unknown): Record<string, SealCheck> => {
    const table = tableNamed(name)
    return { [name]: async rows => rows.filter(row => !opens(() => open(namedColumns(table, row)))) }
  }
  const tenantIdOf = (tenant: number): string => keysOf(keys, tenant).tenantId
  /** Skips the rows of deleted tenants. Nobody can open them, and they are about to be purged. */
  const eachRowOfTenants = (name: string, open: (row: columns.Columns, of: TenantKeys) => unknown) =>
    eachRow(name, row => {
      const tenant = Number(row.tenant)
      if (!keys.dead.has(tenant)) open(row, keysOf(keys, tenant))
    })
  return {
    ...eachRow('tenants', row => openTenant(keys.vault, columns.tenantRow(row))),
    ...eachRow('applications', row => {
      const application = columns.applicationRow(row)
      openApplication(keys.vault, application, tenantIdOf(application.tenant))
    }),
    ...eachRow('api_keys', row => {
      const apiKey = columns.apiKeyRow(row)
      openApiKey(keys.vault, apiKey, tenantIdOf(apiKey.tenant))
    }),
    ...eachRow('resources', row => {
      const resource = columns.resourceRow(row)
      openResources(keys.vault, [resource], tenantIdOf(resource.tenant))
    }),
    ...eachRowOfTenants('deliveries', (row, { tenantId }) => {
      const delivery = columns.deliveryRow(row)
      const owner = { tenantNumber: delivery.tenant, keys: { tenantId } }
      openDelivery({ vaultKeys: keys.vault }, owner, delivery)
    }),
    ...eachRowOfTenants('results', (row, of) => openResult(of, columns.resultRow(row))),
    ...eachRowOfTenants('reports', (row, of) => openReport(of, String(row.name), columns.sealedBytes(row))),
    tokens: async rows =>
      rows.filter(row => {
        const token = columns.tokenRow(row)
        return (
          !keys.dead.has(token.tenant) && !opens(() => openTokenRow(token, [], keysOf(keys, token.tenant)))
        )
      }),
    transients: rows => unopenedTransients(rows, keys, target),
  }
}

/** A transient field opens only together with its token. */
const unopenedTransients = async (
  rows: readonly PlainRow[],
  keys: CopiedKeys,
  target: CopyTarget,
): Promise<PlainRow[]> => {
  const table = tableNamed('transients')
  const transients = rows.map(row => ({ row, transient: columns.transientRow(namedColumns(table, row)) }))
  const unopened: PlainRow[] = []
  for (const [tenant, ofTenant] of Map.groupBy(transients, ({ transient }) => transient.tenant)) {
    if (keys.dead.has(tenant)) continue
    const ids = [...new Set(ofTenant.map(({ transient }) => transient.tokenId))]
    const tokens = new Map((await target.getTokens(tenant, ids)).map(token => [token.id, token]))
    for (const { row, transient } of ofTenant) {
      const token = tokens.get(transient.tokenId)
      if (token === undefined || !opens(() => openTokenRow(token, [transient], keysOf(keys, tenant))))
        unopened.push(row)
    }
  }
  return unopened
}

const keysOf = ({ tenants }: CopiedKeys, tenant: number): TenantKeys => {
  const keys = tenants.get(tenant)
  if (keys === undefined) throw new TamperedError({ kind: 'tenant', id: String(tenant) })
  return keys
}

const opens = (open: () => unknown): boolean => {
  try {
    open()
    return true
  } catch (error) {
    if (error instanceof TamperedError) return false
    throw error
  }
}
