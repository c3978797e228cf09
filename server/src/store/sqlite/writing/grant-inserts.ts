/** What a new tenant begins with goes into its tables by the same statements as what is added later. */
export const insertTenantKey = 'INSERT INTO tenant_keys (tenant, purpose, version, slot) VALUES (?,?,?,?)'
export const insertApplication = 'INSERT INTO applications (tenant, application_id, sealed) VALUES (?,?,?)'
export const insertApiKey =
  'INSERT INTO api_keys (hash, tenant, key_id, application_id, expires_at, sealed) VALUES (?,?,?,?,?,?)'
