import * as columns from '../../columns.ts'
import type { Store } from '../../port.ts'
import { apiKeyColumns, livingApiKey } from '../../sql/statements.ts'
import type { ReadingSide } from './reading-side.ts'
import { ReadStatement } from './reading-side.ts'

export const accessReads = ({ database, read, rows }: ReadingSide) => {
  const apiKeyByHash = new ReadStatement(database, livingApiKey)
  return {
    listTenantKeys: tenant => rows(tenantKeys, [tenant], columns.keyRow),
    listApiKeys: tenant => rows(apiKeysOfTenant, [tenant], columns.usedApiKeyRow),
    findApiKey: (hash, now) =>
      read(() => {
        const row = apiKeyByHash.get(hash, now)
        return row && columns.apiKeyRow(row)
      }),
  } satisfies Partial<Store>
}

const tenantKeys = `
  SELECT k.purpose, k.version, s.bytes AS wrapped FROM tenant_keys k LEFT JOIN slots s ON s.slot = k.slot
  WHERE k.tenant = ? ORDER BY k.purpose, k.version`

const apiKeysOfTenant = `SELECT ${apiKeyColumns}, k.last_used_at FROM api_keys k WHERE k.tenant = ?`
