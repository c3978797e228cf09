/** The kind of value a column holds; with `?` it may be empty. */
export type ColumnKind = 'integer' | 'integer?' | 'text' | 'text?' | 'bytes' | 'bytes?'

/** A table of the vault, as every engine has it. */
export type Table = {
  readonly name: string
  readonly columns: Readonly<Record<string, ColumnKind>>
  /** The order in which every engine can walk the table on an index. Text and bytes sort by their bytes. */
  readonly key: string
  /**
   * Decides where rows are kept in a cluster, and how they are removed when their tenant is deleted.
   * `access`: keys, grants, and the list of tenants. These few rows seldom change, so every node has all of them; those
   * of a tenant are removed at once with it.
   * `content`: what grows as a tenant uses the vault. It is on the tenant's shard and is removed later, batch by batch.
   * `log`: what a tenant did. It is on the tenant's shard and outlives the tenant (L7).
   * `evidence`: about the logs of all tenants. Every node has it, and it outlives them as well.
   */
  readonly holds: 'access' | 'content' | 'log' | 'evidence'
}

/**
 * Everything a vault consists of, in the order in which it is copied: keys and grants first, then what they open. A
 * table or column added by a migration must be added here or to `notCopied` (test/store/tables.test.ts).
 */
export const tables: readonly Table[] = [
  {
    name: 'vault_keys',
    columns: { purpose: 'text', version: 'integer', wrapped: 'bytes' },
    key: 'purpose, version',
    holds: 'access',
  },
  {
    name: 'tenants',
    columns: { tenant: 'integer', tenant_id: 'text', revision: 'integer', sealed: 'bytes' },
    key: 'tenant',
    holds: 'access',
  },
  {
    name: 'dead_tenants',
    columns: { tenant: 'integer' },
    key: 'tenant',
    holds: 'access',
  },
  {
    name: 'tenant_keys',
    columns: { tenant: 'integer', purpose: 'text', version: 'integer', wrapped: 'bytes' },
    key: 'tenant, purpose, version',
    holds: 'access',
  },
  {
    name: 'applications',
    columns: { tenant: 'integer', application_id: 'text', sealed: 'bytes' },
    key: 'tenant, application_id',
    holds: 'access',
  },
  {
    name: 'api_keys',
    columns: {
      hash: 'bytes',
      tenant: 'integer',
      key_id: 'text',
      application_id: 'text',
      expires_at: 'integer?',
      sealed: 'bytes',
    },
    key: 'hash',
    holds: 'access',
  },
  {
    name: 'resources',
    columns: { tenant: 'integer', kind: 'text', resource_id: 'text', hash: 'bytes?', sealed: 'bytes' },
    key: 'tenant, kind, resource_id',
    holds: 'access',
  },
  {
    name: 'key_uses',
    columns: { tenant: 'integer', hash: 'bytes', last_used_at: 'integer' },
    key: 'tenant, hash',
    holds: 'content',
  },
  {
    // Token rows are read by column position, not by name: `tokenRow` and `tokenValues` keep this order.
    name: 'tokens',
    columns: {
      tenant: 'integer',
      token_id: 'text',
      type: 'text',
      version: 'integer',
      created_at: 'integer',
      created_by: 'text',
      modified_at: 'integer?',
      modified_by: 'text?',
      expires_at: 'integer?',
      transient_until: 'integer?',
      active_month: 'integer',
      sealed: 'bytes',
    },
    key: 'tenant, token_id',
    holds: 'content',
  },
  {
    name: 'transients',
    columns: { tenant: 'integer', token_id: 'text', field: 'text', expires_at: 'integer', sealed: 'bytes' },
    key: 'tenant, token_id, field',
    holds: 'content',
  },
  {
    name: 'results',
    columns: { tenant: 'integer', hash: 'bytes', expires_at: 'integer', sealed: 'bytes' },
    key: 'tenant, hash',
    holds: 'content',
  },
  {
    name: 'reports',
    columns: { tenant: 'integer', name: 'text', sealed: 'bytes' },
    key: 'tenant, name',
    holds: 'content',
  },
  {
    name: 'deliveries',
    columns: {
      tenant: 'integer',
      webhook_id: 'text',
      delivery_id: 'text',
      due_at: 'integer?',
      sealed: 'bytes',
    },
    key: 'tenant, webhook_id, delivery_id',
    holds: 'content',
  },
  {
    name: 'terms',
    columns: {
      tenant: 'integer',
      term: 'bytes',
      created_at: 'integer',
      token_id: 'text',
      expires_at: 'integer?',
      tag: 'bytes?',
      signature: 'integer',
    },
    key: 'tenant, term, created_at, token_id DESC',
    holds: 'content',
  },
  {
    name: 'matches',
    columns: { tenant: 'integer', term: 'bytes', tag: 'bytes', token_id: 'text' },
    key: 'tenant, term, tag',
    holds: 'content',
  },
  {
    name: 'counters',
    columns: { tenant: 'integer', name: 'text', value: 'integer', at: 'integer?' },
    key: 'tenant, name',
    holds: 'content',
  },
  {
    name: 'log_owners',
    columns: { tenant: 'integer', tenant_id: 'text' },
    key: 'tenant',
    holds: 'evidence',
  },
  {
    name: 'log',
    columns: {
      tenant: 'integer',
      writer: 'integer',
      first_record: 'integer',
      records: 'integer',
      kept: 'bytes?',
      first_at: 'integer',
      last_at: 'integer',
      sealed: 'bytes',
    },
    key: 'tenant, writer, first_record',
    holds: 'log',
  },
  {
    name: 'log_heads',
    columns: { tenant: 'integer', writer: 'integer', size: 'integer' },
    key: 'tenant, writer',
    holds: 'log',
  },
  {
    name: 'log_trees',
    columns: { tenant: 'integer', writer: 'integer', size: 'integer', sealed: 'bytes' },
    key: 'tenant, writer',
    holds: 'log',
  },
  {
    name: 'log_checkpoints',
    columns: { size: 'integer', at: 'integer', note: 'text', sealed: 'bytes' },
    key: 'size',
    holds: 'evidence',
  },
  {
    name: 'log_leaves',
    columns: { position: 'integer', tenant: 'integer', writer: 'integer', size: 'integer', root: 'bytes' },
    key: 'position',
    holds: 'evidence',
  },
]

const tablesThatHold = (what: Table['holds']): Table[] => tables.filter(({ holds }) => holds === what)

export const accessTables = tablesThatHold('access')
export const contentTables = tablesThatHold('content')
export const logTables = tablesThatHold('log')
export const evidenceTables = tablesThatHold('evidence')

/** The columns that identify a row. */
export const keyColumns = ({ key }: Table): string[] =>
  key.split(', ').map(column => column.replace(' DESC', ''))

export const tableNamed = (name: string): Table => {
  const table = tables.find(known => known.name === name)
  if (table === undefined) throw new Error('there is no such table')
  return table
}
