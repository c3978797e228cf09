import type { Migration } from '../../sql/migration.ts'

/**
 * The writes of a whole batch in one statement, so that one round trip commits them. Changes come as JSON lists,
 * one for each kind (packed-changes.ts); bytes in them as PostgreSQL writes them in hex. Inserts are one statement
 * over their list, and their condition the count of rows. Changes and deletes go row by row: joined with the list,
 * the planner, while it knows nothing of the tables yet, goes through all rows of the tenant.
 *
 * A function carries the number of its migration: nodes of an older release call theirs while a newer one is
 * rolled out.
 */
export const applyChanges: Migration = {
  number: 2,
  name: 'apply-changes',
  sql: `
    -- Answers with the first condition that failed. Then some changes have been made, and the caller undoes them.
    CREATE FUNCTION apply_changes_2(
      for_tenant bigint,
      counter_shard smallint,
      inserted_tokens json,
      added_terms json,
      claimed_matches json,
      kept_results json,
      counter_moves json,
      more jsonb
    ) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
      changed bigint;
      c record;
    BEGIN
      -- Held until the end of the transaction: a tenant is deleted before or after it, never in between.
      PERFORM pg_advisory_xact_lock_shared(for_tenant);
      PERFORM FROM tenants WHERE tenant = for_tenant;
      IF NOT FOUND THEN RETURN 'tenantGone'; END IF;

      -- First: who comes second with an idempotency key is told so, and not that the id is taken.
      IF kept_results IS NOT NULL THEN
        FOR c IN SELECT * FROM json_to_recordset(kept_results) r(hash bytea, "now" bigint) LOOP
          DELETE FROM results WHERE tenant = for_tenant AND hash = c.hash AND expires_at <= c."now";
        END LOOP;
        INSERT INTO results (tenant, hash, expires_at, sealed)
        SELECT for_tenant, r.* FROM json_to_recordset(kept_results)
          r(hash bytea, expires_at bigint, sealed bytea)
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed < json_array_length(kept_results) THEN RETURN 'resultKept'; END IF;
      END IF;

      IF more ? 'reviseTenant' THEN
        UPDATE tenants SET revision = revision + 1
        WHERE tenant = for_tenant AND revision = (more #>> '{reviseTenant,0,if_revision}')::bigint;
        IF NOT FOUND THEN RETURN 'tenantRevised'; END IF;
        UPDATE grants_epoch SET epoch = epoch + 1 WHERE id = 1;
        NOTIFY strongroom_grants;
      END IF;

      IF more ? 'expectToken' THEN
        PERFORM FROM tokens k, jsonb_to_recordset(more -> 'expectToken') r(token_id text)
        WHERE k.tenant = for_tenant AND k.token_id = r.token_id FOR SHARE OF k;
        SELECT count(*) INTO changed
        FROM jsonb_to_recordset(more -> 'expectToken') r(token_id text, sealed bytea)
        LEFT JOIN tokens k ON k.tenant = for_tenant AND k.token_id = r.token_id
        WHERE k.sealed IS NOT DISTINCT FROM r.sealed;
        IF changed < jsonb_array_length(more -> 'expectToken') THEN RETURN 'tokenChanged'; END IF;
      END IF;

      FOR c IN
        SELECT * FROM jsonb_to_recordset(more -> 'deleteToken') r(token_id text, if_version bigint)
      LOOP
        DELETE FROM tokens WHERE tenant = for_tenant AND token_id = c.token_id AND version = c.if_version;
        IF NOT FOUND THEN RETURN 'tokenChanged'; END IF;
        DELETE FROM transients WHERE tenant = for_tenant AND token_id = c.token_id;
      END LOOP;

      FOR c IN
        SELECT * FROM jsonb_to_recordset(more -> 'updateToken') r(token_id text, if_version bigint,
          version bigint, modified_at bigint, modified_by text, expires_at bigint, transient_until bigint,
          sealed bytea)
      LOOP
        UPDATE tokens
        SET version = c.version, modified_at = c.modified_at, modified_by = c.modified_by,
            expires_at = c.expires_at, transient_until = c.transient_until, sealed = c.sealed
        WHERE tenant = for_tenant AND token_id = c.token_id AND version = c.if_version;
        IF NOT FOUND THEN RETURN 'tokenChanged'; END IF;
      END LOOP;

      IF inserted_tokens IS NOT NULL THEN
        INSERT INTO tokens (tenant, token_id, type, version, created_at, created_by, modified_at, modified_by,
          expires_at, transient_until, active_month, sealed)
        SELECT for_tenant, r.* FROM json_to_recordset(inserted_tokens) r(token_id text, type text,
          version bigint, created_at bigint, created_by text, modified_at bigint, modified_by text,
          expires_at bigint, transient_until bigint, active_month bigint, sealed bytea)
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed < json_array_length(inserted_tokens) THEN RETURN 'tokenExists'; END IF;
      END IF;

      IF claimed_matches IS NOT NULL THEN
        INSERT INTO matches (tenant, term, tag, token_id)
        SELECT for_tenant, r.term, r.tag, r.token_id
        FROM json_to_recordset(claimed_matches) r(term bytea, tag bytea, token_id text)
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed < json_array_length(claimed_matches) THEN RETURN 'matchTaken'; END IF;
      END IF;

      FOR c IN
        SELECT * FROM jsonb_to_recordset(more -> 'takeMatch')
          r(term bytea, tag bytea, token_id text, instead_of text)
      LOOP
        UPDATE matches SET token_id = c.token_id
        WHERE tenant = for_tenant AND term = c.term AND tag = c.tag AND token_id = c.instead_of;
        IF NOT FOUND THEN RETURN 'matchTaken'; END IF;
      END LOOP;

      IF more ? 'insertTenantKey' THEN
        INSERT INTO tenant_keys (tenant, purpose, version, wrapped)
        SELECT for_tenant, r.* FROM jsonb_to_recordset(more -> 'insertTenantKey')
          r(purpose text, version bigint, wrapped bytea)
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed < jsonb_array_length(more -> 'insertTenantKey') THEN RETURN 'keyExists'; END IF;
        UPDATE grants_epoch SET epoch = epoch + 1 WHERE id = 1;
        NOTIFY strongroom_grants;
      END IF;

      -- Every condition holds; what follows asks for nothing.

      FOR c IN
        SELECT * FROM jsonb_to_recordset(more -> 'removeTerms')
          r(token_id text, created_at bigint, terms bytea[])
      LOOP
        DELETE FROM terms
        WHERE tenant = for_tenant AND term = ANY (c.terms) AND created_at = c.created_at
          AND token_id = c.token_id;
      END LOOP;

      IF added_terms IS NOT NULL THEN
        INSERT INTO terms (tenant, term, created_at, token_id, expires_at, tag)
        SELECT for_tenant, term.term, r.created_at, r.token_id, r.expires_at, term.tag
        FROM json_to_recordset(added_terms)
          r(token_id text, created_at bigint, expires_at bigint, terms bytea[], tags bytea[]),
          unnest(r.terms, r.tags) term(term, tag)
        ON CONFLICT (tenant, term, created_at, token_id)
          DO UPDATE SET expires_at = excluded.expires_at, tag = excluded.tag;
      END IF;

      IF counter_moves IS NOT NULL THEN
        PERFORM move_counters_2(for_tenant, counter_shard, counter_moves);
      END IF;

      IF more IS NULL THEN RETURN NULL; END IF;

      FOR c IN
        SELECT * FROM jsonb_to_recordset(more -> 'releaseMatch') r(term bytea, tag bytea, token_id text)
      LOOP
        DELETE FROM matches
        WHERE tenant = for_tenant AND term = c.term AND tag = c.tag AND token_id = c.token_id;
      END LOOP;

      FOR c IN SELECT * FROM jsonb_to_recordset(more -> 'dropTransient') r(token_id text, field text) LOOP
        DELETE FROM transients WHERE tenant = for_tenant AND token_id = c.token_id AND field = c.field;
      END LOOP;

      IF more ? 'putTransient' THEN
        INSERT INTO transients (tenant, token_id, field, expires_at, sealed)
        SELECT for_tenant, r.* FROM jsonb_to_recordset(more -> 'putTransient')
          r(token_id text, field text, expires_at bigint, sealed bytea)
        ON CONFLICT (tenant, token_id, field)
          DO UPDATE SET expires_at = excluded.expires_at, sealed = excluded.sealed;
      END IF;

      IF more ? 'putReport' THEN
        INSERT INTO reports (tenant, name, sealed)
        SELECT for_tenant, r.* FROM jsonb_to_recordset(more -> 'putReport') r(name text, sealed bytea)
        ON CONFLICT (tenant, name) DO UPDATE SET sealed = excluded.sealed;
      END IF;

      FOR c IN
        SELECT * FROM jsonb_to_recordset(more -> 'markActive') r(ids text[], month bigint, counter text)
        ORDER BY r.counter
      LOOP
        UPDATE tokens SET active_month = c.month
        WHERE tenant = for_tenant AND token_id = ANY (c.ids) AND active_month < c.month;
        GET DIAGNOSTICS changed = ROW_COUNT;
        PERFORM move_counters_2(for_tenant, counter_shard,
          json_build_array(json_build_object('name', c.counter, 'by', changed)));
      END LOOP;

      IF more ? 'reviseTenant' THEN
        PERFORM apply_grants_2(for_tenant, more);
      END IF;
      RETURN NULL;
    END $$;

    -- In the order of their names: two transactions that meet on several counters never wait for each other.
    CREATE FUNCTION move_counters_2(for_tenant bigint, counter_shard smallint, moves json)
    RETURNS void LANGUAGE sql AS $$
      INSERT INTO counters (tenant, name, shard, value, at)
      SELECT for_tenant, c.name, counter_shard, c.by, c.at
      FROM json_to_recordset(moves) c(name text, by bigint, at bigint)
      WHERE c.by <> 0 OR c.at IS NOT NULL
      ORDER BY c.name
      ON CONFLICT (tenant, name, shard)
        DO UPDATE SET value = counters.value + excluded.value, at = greatest(counters.at, excluded.at)
    $$;

    -- Changes of who may do what; each stands behind reviseTenant, so none needs a condition of its own.
    CREATE FUNCTION apply_grants_2(for_tenant bigint, more jsonb) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE tenants SET sealed = c.sealed FROM jsonb_to_recordset(more -> 'putTenant') c(sealed bytea)
      WHERE tenant = for_tenant;

      INSERT INTO applications (tenant, application_id, sealed)
      SELECT for_tenant, c.* FROM jsonb_to_recordset(more -> 'putApplication') c(id text, sealed bytea)
      ON CONFLICT (tenant, application_id) DO UPDATE SET sealed = excluded.sealed;

      WITH c AS (
        SELECT id FROM jsonb_to_recordset(more -> 'deleteApplication') c(id text)
      ), gone AS (
        DELETE FROM applications a USING c WHERE a.tenant = for_tenant AND a.application_id = c.id
      )
      DELETE FROM api_keys k USING c WHERE k.tenant = for_tenant AND k.application_id = c.id;

      INSERT INTO api_keys (tenant, hash, key_id, application_id, expires_at, sealed)
      SELECT for_tenant, c.* FROM jsonb_to_recordset(more -> 'putApiKey')
        c(hash bytea, id text, application_id text, expires_at bigint, sealed bytea);

      DELETE FROM api_keys k
      USING jsonb_to_recordset(more -> 'deleteApiKey') c(application_id text, id text)
      WHERE k.tenant = for_tenant AND k.application_id = c.application_id AND k.key_id = c.id;

      IF more ? 'deleteTenant' THEN
        -- Waits for the writes of the tenant that are under way; those to come find it gone.
        PERFORM pg_advisory_xact_lock(for_tenant);
        DELETE FROM tenants WHERE tenant = for_tenant;
        DELETE FROM tenant_keys WHERE tenant = for_tenant;
        DELETE FROM applications WHERE tenant = for_tenant;
        DELETE FROM api_keys WHERE tenant = for_tenant;
        INSERT INTO dead_tenants (tenant) VALUES (for_tenant) ON CONFLICT DO NOTHING;
      END IF;
    END $$;

    -- For a batch as one: a condition that fails anywhere ends the transaction.
    CREATE FUNCTION apply_or_abort_2(for_tenant bigint, counter_shard smallint, inserted_tokens json,
      added_terms json, claimed_matches json, kept_results json, counter_moves json, more jsonb)
    RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      IF apply_changes_2(for_tenant, counter_shard, inserted_tokens, added_terms, claimed_matches, kept_results,
        counter_moves, more) IS NOT NULL
      THEN RAISE EXCEPTION 'a condition failed' USING ERRCODE = 'SR001';
      END IF;
    END $$;

    -- For one set: a condition that fails undoes this set alone, and is the answer.
    CREATE FUNCTION apply_or_undo_2(for_tenant bigint, counter_shard smallint, inserted_tokens json,
      added_terms json, claimed_matches json, kept_results json, counter_moves json, more jsonb)
    RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
      conflict text;
    BEGIN
      conflict := apply_changes_2(for_tenant, counter_shard, inserted_tokens, added_terms, claimed_matches,
        kept_results, counter_moves, more);
      IF conflict IS NOT NULL THEN RAISE EXCEPTION 'a condition failed' USING ERRCODE = 'SR001'; END IF;
      RETURN NULL;
    EXCEPTION WHEN SQLSTATE 'SR001' THEN
      RETURN conflict;
    END $$;
  `,
}
