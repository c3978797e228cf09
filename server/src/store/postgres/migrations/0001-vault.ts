import type { Migration } from '../../sql/migration.ts'
import { functions } from './functions.ts'

/**
 * The tables of the embedded engine, with three differences. Text sorts by its bytes (COLLATE "C"), as lists promise.
 * Bytes that SQLite keeps in slots are part of their row: PostgreSQL decides where bytes are kept, and no scheme of
 * ours would change that (docs/postgresql.md). Counters are spread over `shard`, so that concurrent batches do not wait
 * for one row.
 *
 * Every key starts with the tenant, except in the few small tables that are looked up without one. How each table is
 * spread on Citus is in distribute.ts.
 */
export const vault: Migration = {
  number: 1,
  name: 'vault',
  sql: `
    CREATE TABLE vault_keys (
      purpose text COLLATE "C" NOT NULL,
      version bigint NOT NULL,
      wrapped bytea NOT NULL,
      PRIMARY KEY (purpose, version)
    );

    CREATE TABLE tenants (
      tenant bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      tenant_id text COLLATE "C" NOT NULL UNIQUE,
      revision bigint NOT NULL,
      sealed bytea NOT NULL
    );

    CREATE TABLE dead_tenants (
      tenant bigint PRIMARY KEY
    );

    CREATE TABLE grants_epoch (
      id smallint PRIMARY KEY CHECK (id = 1),
      epoch bigint NOT NULL
    );
    INSERT INTO grants_epoch VALUES (1, 1);

    CREATE TABLE tenant_keys (
      tenant bigint NOT NULL,
      purpose text COLLATE "C" NOT NULL,
      version bigint NOT NULL,
      wrapped bytea NOT NULL,
      PRIMARY KEY (tenant, purpose, version)
    );

    CREATE TABLE applications (
      tenant bigint NOT NULL,
      application_id text COLLATE "C" NOT NULL,
      sealed bytea NOT NULL,
      PRIMARY KEY (tenant, application_id)
    );

    CREATE TABLE api_keys (
      hash bytea PRIMARY KEY,
      tenant bigint NOT NULL,
      key_id text COLLATE "C" NOT NULL,
      application_id text COLLATE "C" NOT NULL,
      expires_at bigint,
      sealed bytea NOT NULL
    );
    CREATE UNIQUE INDEX api_keys_by_tenant ON api_keys (tenant, application_id, key_id);
    CREATE INDEX api_keys_by_expiry ON api_keys (expires_at) WHERE expires_at IS NOT NULL;

    -- What a tenant has set up besides: proxies and webhooks. A proxy is found by the keyed hash of its key.
    CREATE TABLE resources (
      tenant bigint NOT NULL,
      kind text COLLATE "C" NOT NULL,
      resource_id text COLLATE "C" NOT NULL,
      hash bytea,
      sealed bytea NOT NULL,
      PRIMARY KEY (tenant, kind, resource_id)
    );
    CREATE UNIQUE INDEX resources_by_hash ON resources (hash) WHERE hash IS NOT NULL;
    CREATE INDEX resources_by_kind ON resources (kind, tenant);

    -- Apart from the keys, which hardly ever change and which every node of Citus holds.
    CREATE TABLE key_uses (
      tenant bigint NOT NULL,
      hash bytea NOT NULL,
      last_used_at bigint NOT NULL,
      PRIMARY KEY (tenant, hash)
    );

    CREATE TABLE tokens (
      tenant bigint NOT NULL,
      token_id text COLLATE "C" NOT NULL,
      type text COLLATE "C" NOT NULL,
      version bigint NOT NULL,
      created_at bigint NOT NULL,
      created_by text COLLATE "C" NOT NULL,
      modified_at bigint,
      modified_by text COLLATE "C",
      expires_at bigint,
      transient_until bigint,
      active_month bigint NOT NULL,
      sealed bytea NOT NULL,
      PRIMARY KEY (tenant, token_id)
    );
    CREATE INDEX tokens_by_expiry ON tokens (expires_at, tenant, type) WHERE expires_at IS NOT NULL;

    -- A primary key cannot be sorted the way lists are, of which this is the reverse; a unique index can.
    CREATE TABLE terms (
      tenant bigint NOT NULL,
      term bytea NOT NULL,
      created_at bigint NOT NULL,
      token_id text COLLATE "C" NOT NULL,
      expires_at bigint,
      tag bytea,
      signature bigint NOT NULL
    );
    CREATE UNIQUE INDEX terms_key ON terms (tenant, term, created_at, token_id DESC)
      INCLUDE (expires_at, tag, signature);
    ALTER TABLE terms REPLICA IDENTITY USING INDEX terms_key;

    CREATE TABLE matches (
      tenant bigint NOT NULL,
      term bytea NOT NULL,
      tag bytea NOT NULL,
      token_id text COLLATE "C" NOT NULL,
      PRIMARY KEY (tenant, term, tag)
    );

    CREATE TABLE transients (
      tenant bigint NOT NULL,
      token_id text COLLATE "C" NOT NULL,
      field text COLLATE "C" NOT NULL,
      expires_at bigint NOT NULL,
      sealed bytea NOT NULL,
      PRIMARY KEY (tenant, token_id, field)
    );
    CREATE INDEX transients_by_expiry ON transients (expires_at);

    CREATE TABLE results (
      tenant bigint NOT NULL,
      hash bytea NOT NULL,
      expires_at bigint NOT NULL,
      sealed bytea NOT NULL,
      PRIMARY KEY (tenant, hash)
    );
    CREATE INDEX results_by_expiry ON results (expires_at);

    -- How far each webhook has come (the empty id), and events that could not be delivered at first.
    CREATE TABLE deliveries (
      tenant bigint NOT NULL,
      webhook_id text COLLATE "C" NOT NULL,
      delivery_id text COLLATE "C" NOT NULL,
      due_at bigint,
      sealed bytea NOT NULL,
      PRIMARY KEY (tenant, webhook_id, delivery_id)
    );

    -- What background jobs find out about a tenant and how far they are, sealed.
    CREATE TABLE reports (
      tenant bigint NOT NULL,
      name text COLLATE "C" NOT NULL,
      sealed bytea NOT NULL,
      PRIMARY KEY (tenant, name)
    );

    -- The log: one row for the records that a transaction adds to a tenant's log. It and all that follows outlive the tenant.
    -- Tenant 0 is the vault's operator.
    CREATE TABLE log (
      tenant bigint NOT NULL,
      writer bigint NOT NULL,
      first_record bigint NOT NULL,
      records bigint NOT NULL,
      kept bytea,
      first_at bigint NOT NULL,
      last_at bigint NOT NULL,
      sealed bytea NOT NULL,
      PRIMARY KEY (tenant, writer, first_record)
    );

    -- How many records each writer has made so far. They change with every batch, like counters.
    CREATE TABLE log_heads (
      tenant bigint NOT NULL,
      writer bigint NOT NULL,
      size bigint NOT NULL,
      PRIMARY KEY (tenant, writer)
    ) WITH (fillfactor = 50);

    -- The Merkle tree of each writer's records, as far as it has grown, sealed.
    CREATE TABLE log_trees (
      tenant bigint NOT NULL,
      writer bigint NOT NULL,
      size bigint NOT NULL,
      sealed bytea NOT NULL,
      PRIMARY KEY (tenant, writer)
    ) WITH (fillfactor = 50);

    -- Whose log it is, also once the tenant is gone.
    CREATE TABLE log_owners (
      tenant bigint PRIMARY KEY,
      tenant_id text COLLATE "C" NOT NULL
    );
    CREATE UNIQUE INDEX log_owners_by_id ON log_owners (tenant_id);

    -- Signed notes over the tree whose leaves are the logs that grew.
    CREATE TABLE log_checkpoints (
      size bigint PRIMARY KEY,
      at bigint NOT NULL,
      note text COLLATE "C" NOT NULL,
      sealed bytea NOT NULL
    );
    CREATE TABLE log_leaves (
      position bigint PRIMARY KEY,
      tenant bigint NOT NULL,
      writer bigint NOT NULL,
      size bigint NOT NULL,
      root bytea NOT NULL
    );

    -- Which node does what only one of them should do, and until when.
    CREATE TABLE leases (
      name text COLLATE "C" PRIMARY KEY,
      holder text NOT NULL,
      until bigint NOT NULL
    );

    -- Rows that change with every batch: half of each page is left free, so that a change stays on its page.
    CREATE TABLE counters (
      tenant bigint NOT NULL,
      name text COLLATE "C" NOT NULL,
      shard smallint NOT NULL,
      value bigint NOT NULL,
      at bigint,
      PRIMARY KEY (tenant, name, shard)
    ) WITH (fillfactor = 50);

    ${functions}
  `,
}
