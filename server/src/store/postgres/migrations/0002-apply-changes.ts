import type { Migration } from '../../sql/migration.ts'

/**
 * The writes of a whole batch in one statement, so that one round trip commits them. Changes come as JSON lists,
 * one for each kind (batch.ts); bytes in them as PostgreSQL writes them in hex. Each kind is one statement over
 * its list, each condition a count of the rows that it changed.
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
      active record;
    BEGIN
      -- Held until the end of the transaction: a tenant is deleted before or after it, never in between.
      PERFORM pg_advisory_xact_lock_shared(for_tenant);
      PERFORM FROM tenants WHERE tenant = for_tenant;
      IF NOT FOUND THEN RETURN 'tenantGone'; END IF;

      -- First: who comes second with an idempotency key is told so, and not that the id is taken.
      IF kept_results IS NOT NULL THEN
        DELETE FROM results r
        USING json_to_recordset(kept_results) c(hash bytea, "now" bigint)
        WHERE r.tenant = for_tenant AND r.hash = c.hash AND r.expires_at <= c."now";
        INSERT INTO results (tenant, hash, expires_at, sealed)
        SELECT for_tenant, c.* FROM json_to_recordset(kept_results)
          c(hash bytea, expires_at bigint, sealed bytea)
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
        PERFORM FROM tokens k, jsonb_to_recordset(more -> 'expectToken') c(token_id text)
        WHERE k.tenant = for_tenant AND k.token_id = c.token_id FOR SHARE OF k;
        SELECT count(*) INTO changed
        FROM jsonb_to_recordset(more -> 'expectToken') c(token_id text, sealed bytea)
        LEFT JOIN tokens k ON k.tenant = for_tenant AND k.token_id = c.token_id
        WHERE k.sealed IS NOT DISTINCT FROM c.sealed;
        IF changed < jsonb_array_length(more -> 'expectToken') THEN RETURN 'tokenChanged'; END IF;
      END IF;

      IF more ? 'deleteToken' THEN
        WITH gone AS (
          DELETE FROM tokens k
          USING jsonb_to_recordset(more -> 'deleteToken') c(token_id text, if_version bigint)
          WHERE k.tenant = for_tenant AND k.token_id = c.token_id AND k.version = c.if_version
          RETURNING k.token_id
        ), dropped AS (
          DELETE FROM transients t USING gone WHERE t.tenant = for_tenant AND t.token_id = gone.token_id
        )
        SELECT count(*) INTO changed FROM gone;
        IF changed < jsonb_array_length(more -> 'deleteToken') THEN RETURN 'tokenChanged'; END IF;
      END IF;

      IF more ? 'updateToken' THEN
        UPDATE tokens k
        SET version = c.version, modified_at = c.modified_at, modified_by = c.modified_by,
            expires_at = c.expires_at, transient_until = c.transient_until, sealed = c.sealed
        FROM jsonb_to_recordset(more -> 'updateToken') c(token_id text, if_version bigint, version bigint,
          modified_at bigint, modified_by text, expires_at bigint, transient_until bigint, sealed bytea)
        WHERE k.tenant = for_tenant AND k.token_id = c.token_id AND k.version = c.if_version;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed < jsonb_array_length(more -> 'updateToken') THEN RETURN 'tokenChanged'; END IF;
      END IF;

      IF inserted_tokens IS NOT NULL THEN
        INSERT INTO tokens (tenant, token_id, type, version, created_at, created_by, modified_at, modified_by,
          expires_at, transient_until, active_month, sealed)
        SELECT for_tenant, c.* FROM json_to_recordset(inserted_tokens) c(token_id text, type text,
          version bigint, created_at bigint, created_by text, modified_at bigint, modified_by text,
          expires_at bigint, transient_until bigint, active_month bigint, sealed bytea)
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed < json_array_length(inserted_tokens) THEN RETURN 'tokenExists'; END IF;
      END IF;

      IF claimed_matches IS NOT NULL THEN
        INSERT INTO matches (tenant, term, tag, token_id)
        SELECT for_tenant, c.term, c.tag, c.token_id
        FROM json_to_recordset(claimed_matches) c(term bytea, tag bytea, token_id text)
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed < json_array_length(claimed_matches) THEN RETURN 'matchTaken'; END IF;
      END IF;

      IF more ? 'takeMatch' THEN
        UPDATE matches m SET token_id = c.token_id
        FROM jsonb_to_recordset(more -> 'takeMatch') c(term bytea, tag bytea, token_id text, instead_of text)
        WHERE m.tenant = for_tenant AND m.term = c.term AND m.tag = c.tag AND m.token_id = c.instead_of;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed < jsonb_array_length(more -> 'takeMatch') THEN RETURN 'matchTaken'; END IF;
      END IF;

      IF more ? 'insertTenantKey' THEN
        INSERT INTO tenant_keys (tenant, purpose, version, wrapped)
        SELECT for_tenant, c.* FROM jsonb_to_recordset(more -> 'insertTenantKey')
          c(purpose text, version bigint, wrapped bytea)
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS changed = ROW_COUNT;
        IF changed < jsonb_array_length(more -> 'insertTenantKey') THEN RETURN 'keyExists'; END IF;
        UPDATE grants_epoch SET epoch = epoch + 1 WHERE id = 1;
        NOTIFY strongroom_grants;
      END IF;

      -- Every condition holds; what follows asks for nothing.

      IF more ? 'removeTerms' THEN
        DELETE FROM terms t
        USING jsonb_to_recordset(more -> 'removeTerms') c(token_id text, created_at bigint, terms bytea[]),
          unnest(c.terms) term
        WHERE t.tenant = for_tenant AND t.term = term.term AND t.created_at = c.created_at
          AND t.token_id = c.token_id;
      END IF;

      IF added_terms IS NOT NULL THEN
        INSERT INTO terms (tenant, term, created_at, token_id, expires_at, tag)
        SELECT for_tenant, term.term, c.created_at, c.token_id, c.expires_at, term.tag
        FROM json_to_recordset(added_terms)
          c(token_id text, created_at bigint, expires_at bigint, terms bytea[], tags bytea[]),
          unnest(c.terms, c.tags) term(term, tag)
        ON CONFLICT (tenant, term, created_at, token_id)
          DO UPDATE SET expires_at = excluded.expires_at, tag = excluded.tag;
      END IF;

      IF counter_moves IS NOT NULL THEN
        PERFORM move_counters_2(for_tenant, counter_shard, counter_moves);
      END IF;

      IF more IS NULL THEN RETURN NULL; END IF;

      IF more ? 'releaseMatch' THEN
        DELETE FROM matches m
        USING jsonb_to_recordset(more -> 'releaseMatch') c(term bytea, tag bytea, token_id text)
        WHERE m.tenant = for_tenant AND m.term = c.term AND m.tag = c.tag AND m.token_id = c.token_id;
      END IF;

      IF more ? 'dropTransient' THEN
        DELETE FROM transients t
        USING jsonb_to_recordset(more -> 'dropTransient') c(token_id text, field text)
        WHERE t.tenant = for_tenant AND t.token_id = c.token_id AND t.field = c.field;
      END IF;

      IF more ? 'putTransient' THEN
        INSERT INTO transients (tenant, token_id, field, expires_at, sealed)
        SELECT for_tenant, c.* FROM jsonb_to_recordset(more -> 'putTransient')
          c(token_id text, field text, expires_at bigint, sealed bytea)
        ON CONFLICT (tenant, token_id, field)
          DO UPDATE SET expires_at = excluded.expires_at, sealed = excluded.sealed;
      END IF;

      IF more ? 'putReport' THEN
        INSERT INTO reports (tenant, name, sealed)
        SELECT for_tenant, c.* FROM jsonb_to_recordset(more -> 'putReport') c(name text, sealed bytea)
        ON CONFLICT (tenant, name) DO UPDATE SET sealed = excluded.sealed;
      END IF;

      FOR active IN
        SELECT * FROM jsonb_to_recordset(more -> 'markActive') c(ids text[], month bigint, counter text)
        ORDER BY c.counter
      LOOP
        UPDATE tokens SET active_month = active.month
        WHERE tenant = for_tenant AND token_id = ANY (active.ids) AND active_month < active.month;
        GET DIAGNOSTICS changed = ROW_COUNT;
        PERFORM move_counters_2(for_tenant, counter_shard,
          json_build_array(json_build_object('name', active.counter, 'by', changed)));
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
