import * as columns from '../columns.ts'
import type { Store } from '../port.ts'
import { apiKeyColumns, livingApiKey } from '../sql/statements.ts'
import type { ReadingSide } from './reading-side.ts'

export const accessReads = ({ ask, row, rows }: ReadingSide) =>
  ({
    listTenantKeys: tenant => rows(tenantKeys, [tenant], columns.keyRow),
    // Not joined: on Citus a join would read another node's copy of the keys, which may be a moment behind.
    listApiKeys: async tenant => {
      const [keys, uses] = await Promise.all([
        ask<columns.Columns>(apiKeysOfTenant, [tenant]),
        ask<columns.Columns>(keyUsesOfTenant, [tenant]),
      ])
      const lastUses = new Map(uses.map(({ hash, last_used_at }) => [hash, last_used_at]))
      return keys.map(key =>
        columns.usedApiKeyRow({ ...key, last_used_at: lastUses.get(key.hash_text) ?? null }),
      )
    },
    findApiKey: (hash, now) => row(livingApiKey, [hash, now], columns.apiKeyRow),
  }) satisfies Partial<Store>

const tenantKeys =
  'SELECT purpose, version, wrapped FROM tenant_keys WHERE tenant = ? ORDER BY purpose, version'

const apiKeysOfTenant = `SELECT ${apiKeyColumns}, encode(k.hash, 'hex') AS hash_text
  FROM api_keys k WHERE k.tenant = ?`
const keyUsesOfTenant = "SELECT encode(hash, 'hex') AS hash, last_used_at FROM key_uses WHERE tenant = ?"
