import { tableNamed } from '../tables.ts'

/** The columns of a token's row `k`, in the order in which `tokenRow` reads them. */
export const tokenColumns = Object.keys(tableNamed('tokens').columns)
  .map(column => `k.${column}`)
  .join(', ')

/**
 * Reads that are the same on every engine. They name their columns, so that a node of an older release can still read
 * after a newer one has added columns.
 */
export const tokenById = `SELECT ${tokenColumns} FROM tokens k WHERE k.tenant = ? AND k.token_id = ?`

/** Two conditions, each of which walks the index of deadlines. */
export const dueTransients = `SELECT tenant, count(*) AS due FROM (
    SELECT tenant FROM transients WHERE expires_at <= ? UNION ALL SELECT tenant FROM transients WHERE expires_at > ?
  ) found GROUP BY tenant ORDER BY tenant`

export const keyExpiries = `
  SELECT (SELECT min(expires_at) FROM api_keys WHERE expires_at > ?) AS next,
    (SELECT count(*) FROM api_keys WHERE expires_at > ? AND expires_at <= ?) AS soon`
export const newestTokenAt = 'SELECT max(at) AS at FROM counters'

export const listExpiredTokens = `SELECT ${tokenColumns} FROM tokens k
  WHERE k.expires_at <= ? AND k.tenant NOT IN (SELECT tenant FROM dead_tenants)
  ORDER BY k.expires_at LIMIT ? OFFSET ?`

export const tokensBehind = `SELECT ${tokenColumns} FROM tokens k
  WHERE k.tenant = ? AND k.token_id > ? ORDER BY k.token_id LIMIT ?`

export const reportByName = 'SELECT sealed FROM reports WHERE tenant = ? AND name = ?'

export const resultByHash =
  'SELECT tenant, hash, expires_at, sealed FROM results WHERE tenant = ? AND hash = ? AND expires_at > ?'

const deliveryColumns = 'tenant, webhook_id, delivery_id, due_at, sealed'
const ofWebhook = 'FROM deliveries WHERE tenant = ? AND webhook_id = ?'
export const deliveryById = `SELECT ${deliveryColumns} ${ofWebhook} AND delivery_id = ?`
export const deliveriesBehind = `SELECT ${deliveryColumns} ${ofWebhook} AND delivery_id > ?
  ORDER BY delivery_id LIMIT ?`
export const deliveryCount = `SELECT count(*) AS count ${ofWebhook} AND delivery_id > ''`
export const dueDeliveries = `SELECT ${deliveryColumns} ${ofWebhook} AND due_at <= ?
  ORDER BY due_at, delivery_id LIMIT ?`
export const deliveryOwners = 'SELECT DISTINCT webhook_id FROM deliveries WHERE tenant = ?'

const tenantColumns = 'tenant, tenant_id, revision, sealed'
export const tenantByNumber = `SELECT ${tenantColumns} FROM tenants WHERE tenant = ?`
export const allTenants = `SELECT ${tenantColumns} FROM tenants ORDER BY tenant`

const applicationColumns = 'tenant, application_id, sealed'
export const applicationById = `SELECT ${applicationColumns} FROM applications WHERE tenant = ? AND application_id = ?`
export const applicationsOfTenant = `SELECT ${applicationColumns} FROM applications WHERE tenant = ?`

export const apiKeyColumns = 'k.tenant, k.key_id, k.application_id, k.hash, k.expires_at, k.sealed'
export const livingApiKey = `SELECT ${apiKeyColumns} FROM api_keys k
  WHERE k.hash = ? AND (k.expires_at IS NULL OR k.expires_at > ?)`

const resourceColumns = 'tenant, kind, resource_id, hash, sealed'
export const resourcesOfTenant = `SELECT ${resourceColumns} FROM resources WHERE tenant = ?`
export const resourceByHash = `SELECT ${resourceColumns} FROM resources WHERE hash = ? AND kind = ?`
export const resourceOwners = `SELECT DISTINCT r.tenant, t.revision FROM resources r JOIN tenants t ON t.tenant = r.tenant
  WHERE r.kind = ? ORDER BY r.tenant`

export const vaultKeys = 'SELECT purpose, version, wrapped FROM vault_keys ORDER BY purpose, version'

/** Reads a table, because a constant would be answered without touching storage. */
export const health = 'SELECT 1 AS up FROM vault_keys LIMIT 1'
