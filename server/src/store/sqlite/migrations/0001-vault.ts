import type { Migration } from '../../sql/migration.ts'

/**
 * Every key starts with the tenant. `terms` and `matches` are clustered on their keys. `tokens` and `transients` are
 * heaps with an index, because their rows are long and arrive in order.
 *
 * Bytes that must leave no trace when deleted, sealed transient fields (C11) and wrapped keys (C31), are kept apart in
 * a slot that is written once and never moves. secure_delete alone is not enough: when a page overflows or is nearly
 * empty, SQLite moves rows between pages, and bytes in the gap of a rebuilt page stay there when the row itself is
 * deleted later. So slots are only appended, then wiped and refilled in place with bytes of the same length. There are
 * as many as were ever needed at one time.
 */
export const vault: Migration = {
  number: 1,
  name: 'vault',
  sql: `
    CREATE TABLE vault_keys (
      purpose TEXT NOT NULL,
      version INTEGER NOT NULL,
      wrapped BLOB NOT NULL,
      PRIMARY KEY (purpose, version)
    ) WITHOUT ROWID;

    CREATE TABLE tenants (
      tenant INTEGER PRIMARY KEY AUTOINCREMENT,
      tenant_id TEXT NOT NULL UNIQUE,
      revision INTEGER NOT NULL,
      sealed BLOB NOT NULL
    );

    -- Tenants that were deleted and whose tokens are still to be removed.
    CREATE TABLE dead_tenants (
      tenant INTEGER PRIMARY KEY
    );

    -- One row: grows whenever any grant changes, so that other processes drop what they remember.
    CREATE TABLE grants_epoch (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      epoch INTEGER NOT NULL
    );
    INSERT INTO grants_epoch VALUES (1, 1);

    CREATE TABLE tenant_keys (
      tenant INTEGER NOT NULL,
      purpose TEXT NOT NULL,
      version INTEGER NOT NULL,
      slot INTEGER NOT NULL,
      PRIMARY KEY (tenant, purpose, version)
    ) WITHOUT ROWID;

    CREATE TABLE applications (
      tenant INTEGER NOT NULL,
      application_id TEXT NOT NULL,
      sealed BLOB NOT NULL,
      PRIMARY KEY (tenant, application_id)
    ) WITHOUT ROWID;

    CREATE TABLE api_keys (
      hash BLOB NOT NULL PRIMARY KEY,
      tenant INTEGER NOT NULL,
      key_id TEXT NOT NULL,
      application_id TEXT NOT NULL,
      expires_at INTEGER,
      last_used_at INTEGER,
      sealed BLOB NOT NULL
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX api_keys_by_tenant ON api_keys (tenant, application_id, key_id);
    CREATE INDEX api_keys_by_expiry ON api_keys (expires_at) WHERE expires_at IS NOT NULL;

    -- What a tenant has set up besides: proxies and webhooks. A proxy is found by the keyed hash of its key.
    CREATE TABLE resources (
      tenant INTEGER NOT NULL,
      kind TEXT NOT NULL,
      resource_id TEXT NOT NULL,
      hash BLOB,
      sealed BLOB NOT NULL,
      PRIMARY KEY (tenant, kind, resource_id)
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX resources_by_hash ON resources (hash) WHERE hash IS NOT NULL;
    CREATE INDEX resources_by_kind ON resources (kind, tenant);

    CREATE TABLE tokens (
      tenant INTEGER NOT NULL,
      token_id TEXT NOT NULL,
      type TEXT NOT NULL,
      version INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      created_by TEXT NOT NULL,
      modified_at INTEGER,
      modified_by TEXT,
      expires_at INTEGER,
      transient_until INTEGER,
      active_month INTEGER NOT NULL,
      sealed BLOB NOT NULL,
      PRIMARY KEY (tenant, token_id)
    );
    CREATE INDEX tokens_by_expiry ON tokens (expires_at, tenant, type) WHERE expires_at IS NOT NULL;

    -- In the order of time, and read backwards: rows that come before those of before would leave pages half empty.
    CREATE TABLE terms (
      tenant INTEGER NOT NULL,
      term BLOB NOT NULL,
      created_at INTEGER NOT NULL,
      token_id TEXT NOT NULL,
      expires_at INTEGER,
      tag BLOB,
      signature INTEGER NOT NULL,
      PRIMARY KEY (tenant, term, created_at, token_id DESC)
    ) WITHOUT ROWID;

    -- New entries on their way into terms, in the order in which they came (waiting-entries.ts). A place is never used
    -- twice; an entry that waits no more has an empty term.
    CREATE TABLE waiting_terms (
      place INTEGER PRIMARY KEY,
      tenant INTEGER NOT NULL,
      term BLOB NOT NULL,
      created_at INTEGER NOT NULL,
      token_id TEXT NOT NULL,
      expires_at INTEGER,
      tag BLOB,
      signature INTEGER NOT NULL
    );

    -- One row: of the entries up to this place, those in this many parts are in terms already. Parts go by the first byte.
    CREATE TABLE waiting_moved (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      up_to INTEGER NOT NULL,
      parts INTEGER NOT NULL
    );
    INSERT INTO waiting_moved VALUES (1, 0, 256);

    CREATE TABLE matches (
      tenant INTEGER NOT NULL,
      term BLOB NOT NULL,
      tag BLOB NOT NULL,
      token_id TEXT NOT NULL,
      PRIMARY KEY (tenant, term, tag)
    ) WITHOUT ROWID;

    CREATE TABLE transients (
      tenant INTEGER NOT NULL,
      token_id TEXT NOT NULL,
      field TEXT NOT NULL,
      expires_at INTEGER NOT NULL,
      slot INTEGER NOT NULL,
      PRIMARY KEY (tenant, token_id, field)
    );
    CREATE INDEX transients_by_expiry ON transients (expires_at);

    CREATE TABLE slots (
      slot INTEGER PRIMARY KEY,
      size INTEGER NOT NULL,
      is_free INTEGER NOT NULL,
      bytes BLOB NOT NULL
    );
    CREATE INDEX slots_free ON slots (size) WHERE is_free;

    -- Whoever deletes a row that has a slot, and for whatever reason, wipes the slot.
    CREATE TRIGGER transients_wiped AFTER DELETE ON transients BEGIN
      UPDATE slots SET is_free = 1, bytes = zeroblob(size) WHERE slot = old.slot;
    END;
    CREATE TRIGGER tenant_keys_wiped AFTER DELETE ON tenant_keys BEGIN
      UPDATE slots SET is_free = 1, bytes = zeroblob(size) WHERE slot = old.slot;
    END;

    CREATE TABLE results (
      tenant INTEGER NOT NULL,
      hash BLOB NOT NULL,
      expires_at INTEGER NOT NULL,
      sealed BLOB NOT NULL,
      PRIMARY KEY (tenant, hash)
    );
    CREATE INDEX results_by_expiry ON results (expires_at);

    -- How far each webhook has come (the empty id), and events that could not be delivered at first.
    CREATE TABLE deliveries (
      tenant INTEGER NOT NULL,
      webhook_id TEXT NOT NULL,
      delivery_id TEXT NOT NULL,
      due_at INTEGER,
      sealed BLOB NOT NULL,
      PRIMARY KEY (tenant, webhook_id, delivery_id)
    ) WITHOUT ROWID;

    -- What background jobs have found out about a tenant, and how far they have come, sealed.
    CREATE TABLE reports (
      tenant INTEGER NOT NULL,
      name TEXT NOT NULL,
      sealed BLOB NOT NULL,
      PRIMARY KEY (tenant, name)
    );

    CREATE TABLE counters (
      tenant INTEGER NOT NULL,
      name TEXT NOT NULL,
      value INTEGER NOT NULL,
      at INTEGER,
      PRIMARY KEY (tenant, name)
    ) WITHOUT ROWID;

    -- The log: one row for the records that a batch adds to a tenant's log. It and all that follows outlive the tenant. Tenant 0 is
    -- the vault's operator. A heap like tokens, because rows arrive in the order of time and not of tenants.
    CREATE TABLE log (
      tenant INTEGER NOT NULL,
      writer INTEGER NOT NULL,
      first_record INTEGER NOT NULL,
      records INTEGER NOT NULL,
      kept BLOB,
      first_at INTEGER NOT NULL,
      last_at INTEGER NOT NULL,
      sealed BLOB NOT NULL,
      PRIMARY KEY (tenant, writer, first_record)
    );

    -- How many records each log has had so far.
    CREATE TABLE log_heads (
      tenant INTEGER NOT NULL,
      writer INTEGER NOT NULL,
      size INTEGER NOT NULL,
      PRIMARY KEY (tenant, writer)
    ) WITHOUT ROWID;

    -- The Merkle tree of each log, as far as it has grown, sealed.
    CREATE TABLE log_trees (
      tenant INTEGER NOT NULL,
      writer INTEGER NOT NULL,
      size INTEGER NOT NULL,
      sealed BLOB NOT NULL,
      PRIMARY KEY (tenant, writer)
    );

    -- Whose log it is, also once the tenant is gone.
    CREATE TABLE log_owners (
      tenant INTEGER PRIMARY KEY,
      tenant_id TEXT NOT NULL UNIQUE
    );

    -- Signed notes over the tree whose leaves are the logs that grew.
    CREATE TABLE log_checkpoints (
      size INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      note TEXT NOT NULL,
      sealed BLOB NOT NULL
    );
    CREATE TABLE log_leaves (
      position INTEGER PRIMARY KEY,
      tenant INTEGER NOT NULL,
      writer INTEGER NOT NULL,
      size INTEGER NOT NULL,
      root BLOB NOT NULL
    );

    -- Which node does a job that only one of them should do, and until when.
    CREATE TABLE leases (
      name TEXT NOT NULL PRIMARY KEY,
      holder TEXT NOT NULL,
      until INTEGER NOT NULL
    ) WITHOUT ROWID;
  `,
}
