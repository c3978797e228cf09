import { advisoryLocks } from '../advisory-locks.ts'

const logParameters = 'log_records bigint, log_first_at bigint, log_last_at bigint, log_sealed bytea'

/**
 * Parameters of these functions: the tenant, which of each counter's rows to move and which of its logs to add to, changes as lists,
 * and a block of the log.
 */
const parameters = `for_tenant bigint, writer_shard smallint, inserted_tokens json,
      added_terms json, claimed_matches json, kept_results json, counter_moves json, more jsonb,
      ${logParameters}`

const changes = `for_tenant, writer_shard, inserted_tokens, added_terms, claimed_matches,
        kept_results, counter_moves, more, log_records, log_first_at, log_last_at, log_sealed`

/** For one set: a failed condition undoes this set alone, and is returned. */
const applyOrUndo = (name: string): string => `
    CREATE FUNCTION ${name}(${parameters})
    RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
      conflict text;
    BEGIN
      conflict := apply_changes(${changes});
      IF conflict IS NOT NULL THEN RAISE EXCEPTION 'a condition failed' USING ERRCODE = 'SR001'; END IF;
      RETURN NULL;
    EXCEPTION WHEN SQLSTATE 'SR001' THEN
      RETURN conflict;
    END $$;`

/**
 * Functions that apply the writes of a whole batch in one statement, so that one round trip commits them. Changes come as JSON
 * lists, one for each kind (packed-changes.ts), with bytes in PostgreSQL's hex notation. Inserts without a condition are one
 * statement over their list. All other changes go row by row: joining the list, a planner that knows nothing of the tables yet
 * would walk all rows of the tenant, and Citus counts the rows it was given to insert, not those it inserted.
 *
 * A migration that changes a function makes one of another name, which ends in the number of the migration: nodes of an older
 * release call theirs while a newer release is rolled out. It replaces a function only by a version that serves those nodes too.
 */
export const functions = `
    -- Answers with the first condition that failed. Then some changes have been made, and the caller undoes them.
    CREATE FUNCTION apply_changes(${parameters})
    RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
      changed bigint;
      c record;
    BEGIN
      -- A tenant may be deleted between an answer and its record.
      IF log_sealed IS NOT NULL AND num_nonnulls(inserted_tokens, added_terms, claimed_matches, kept_results,
        counter_moves, more) = 0
      THEN
        PERFORM append_log(for_tenant, writer_shard, log_records, log_first_at, log_last_at, log_sealed);
        RETURN NULL;
      END IF;

      -- Held until the end of the transaction: a tenant is deleted before or after it, never in between.
      PERFORM pg_advisory_xact_lock_shared(for_tenant);
      PERFORM FROM tenants WHERE tenant = for_tenant;
      IF NOT FOUND THEN RETURN 'tenantGone'; END IF;

      -- First: who comes second with an idempotency key is told so, and not that the id is taken.
      FOR c IN
        SELECT * FROM json_to_recordset(kept_results)
          r(hash bytea, expires_at bigint, sealed bytea, "now" bigint)
      LOOP
        DELETE FROM results WHERE tenant = for_tenant AND hash = c.hash AND expires_at <= c."now";
        INSERT INTO results (tenant, hash, expires_at, sealed)
        VALUES (for_tenant, c.hash, c.expires_at, c.sealed) ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN RETURN 'resultKept'; END IF;
      END LOOP;

      IF more ? 'reviseTenant' THEN
        UPDATE tenants SET revision = revision + 1
        WHERE tenant = for_tenant AND revision = (more #>> '{reviseTenant,0,if_revision}')::bigint;
        IF NOT FOUND THEN RETURN 'tenantRevised'; END IF;
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

      -- Row by row, in their order: sets of one batch may follow one another.
      FOR c IN
        SELECT * FROM jsonb_to_recordset(more -> 'replaceReport') r(name text, sealed bytea, if_sealed bytea)
      LOOP
        IF c.if_sealed IS NULL THEN
          INSERT INTO reports (tenant, name, sealed) VALUES (for_tenant, c.name, c.sealed) ON CONFLICT DO NOTHING;
        ELSE
          UPDATE reports SET sealed = c.sealed
          WHERE tenant = for_tenant AND name = c.name AND sealed = c.if_sealed;
        END IF;
        IF NOT FOUND THEN RETURN 'reportChanged'; END IF;
      END LOOP;

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

      FOR c IN
        SELECT * FROM json_to_recordset(inserted_tokens) r(token_id text, type text, version bigint,
          created_at bigint, created_by text, modified_at bigint, modified_by text, expires_at bigint,
          transient_until bigint, active_month bigint, sealed bytea)
      LOOP
        INSERT INTO tokens (tenant, token_id, type, version, created_at, created_by, modified_at, modified_by,
          expires_at, transient_until, active_month, sealed)
        VALUES (for_tenant, c.token_id, c.type, c.version, c.created_at, c.created_by, c.modified_at,
          c.modified_by, c.expires_at, c.transient_until, c.active_month, c.sealed)
        ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN RETURN 'tokenExists'; END IF;
      END LOOP;

      FOR c IN
        SELECT * FROM json_to_recordset(claimed_matches) r(term bytea, tag bytea, token_id text)
      LOOP
        INSERT INTO matches (tenant, term, tag, token_id) VALUES (for_tenant, c.term, c.tag, c.token_id)
        ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN RETURN 'matchTaken'; END IF;
      END LOOP;

      FOR c IN
        SELECT * FROM jsonb_to_recordset(more -> 'takeMatch')
          r(term bytea, tag bytea, token_id text, instead_of text)
      LOOP
        UPDATE matches SET token_id = c.token_id
        WHERE tenant = for_tenant AND term = c.term AND tag = c.tag AND token_id = c.instead_of;
        IF NOT FOUND THEN RETURN 'matchTaken'; END IF;
      END LOOP;

      FOR c IN
        SELECT * FROM jsonb_to_recordset(more -> 'insertTenantKey')
          r(purpose text, version bigint, wrapped bytea)
      LOOP
        INSERT INTO tenant_keys (tenant, purpose, version, wrapped)
        VALUES (for_tenant, c.purpose, c.version, c.wrapped) ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN RETURN 'keyExists'; END IF;
      END LOOP;

      IF more ?| '{reviseTenant,insertTenantKey}' THEN
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
        INSERT INTO terms (tenant, term, created_at, token_id, expires_at, tag, signature)
        SELECT for_tenant, term.term, r.created_at, r.token_id, r.expires_at, term.tag, r.signature
        FROM json_to_recordset(added_terms)
          r(token_id text, created_at bigint, expires_at bigint, signature bigint, terms bytea[], tags bytea[]),
          unnest(r.terms, r.tags) term(term, tag)
        ON CONFLICT (tenant, term, created_at, token_id)
          DO UPDATE SET expires_at = excluded.expires_at, tag = excluded.tag, signature = excluded.signature;
      END IF;

      IF counter_moves IS NOT NULL THEN
        PERFORM move_counters(for_tenant, writer_shard, counter_moves);
      END IF;

      IF log_sealed IS NOT NULL THEN
        PERFORM append_log(for_tenant, writer_shard, log_records, log_first_at, log_last_at, log_sealed);
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

      FOR c IN SELECT * FROM jsonb_to_recordset(more -> 'dropDeliveries') r(webhook_id text) LOOP
        DELETE FROM deliveries WHERE tenant = for_tenant AND webhook_id = c.webhook_id;
      END LOOP;

      FOR c IN
        SELECT * FROM jsonb_to_recordset(more -> 'dropDelivery') r(webhook_id text, delivery_id text)
      LOOP
        DELETE FROM deliveries
        WHERE tenant = for_tenant AND webhook_id = c.webhook_id AND delivery_id = c.delivery_id;
      END LOOP;

      FOR c IN
        SELECT * FROM jsonb_to_recordset(more -> 'putDelivery')
          r(webhook_id text, delivery_id text, due_at bigint, sealed bytea)
      LOOP
        INSERT INTO deliveries (tenant, webhook_id, delivery_id, due_at, sealed)
        VALUES (for_tenant, c.webhook_id, c.delivery_id, c.due_at, c.sealed)
        ON CONFLICT (tenant, webhook_id, delivery_id)
          DO UPDATE SET due_at = excluded.due_at, sealed = excluded.sealed;
      END LOOP;

      FOR c IN
        SELECT * FROM jsonb_to_recordset(more -> 'hastenDelivery') r(webhook_id text, delivery_id text, at bigint)
      LOOP
        UPDATE deliveries SET due_at = c.at
        WHERE tenant = for_tenant AND webhook_id = c.webhook_id AND delivery_id = c.delivery_id;
      END LOOP;

      FOR c IN
        SELECT * FROM jsonb_to_recordset(more -> 'markActive') r(ids text[], month bigint, counter text)
        ORDER BY r.counter
      LOOP
        UPDATE tokens SET active_month = c.month
        WHERE tenant = for_tenant AND token_id = ANY (c.ids) AND active_month < c.month;
        GET DIAGNOSTICS changed = ROW_COUNT;
        PERFORM move_counters(for_tenant, writer_shard,
          json_build_array(json_build_object('name', c.counter, 'by', changed)));
      END LOOP;

      IF more ? 'reviseTenant' THEN
        PERFORM apply_grants(for_tenant, more);
      END IF;
      RETURN NULL;
    END $$;

    -- In the order of their names: two transactions that meet on several counters never wait for each other.
    CREATE FUNCTION move_counters(for_tenant bigint, writer_shard smallint, moves json)
    RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO counters (tenant, name, shard, value, at)
      SELECT for_tenant, c.name, writer_shard, c.by, c.at
      FROM json_to_recordset(moves) c(name text, by bigint, at bigint)
      WHERE c.by <> 0 OR c.at IS NOT NULL
      ORDER BY c.name
      ON CONFLICT (tenant, name, shard)
        DO UPDATE SET value = counters.value + excluded.value, at = greatest(counters.at, excluded.at);
    END $$;

    -- The head's row stays locked until the commit, so that records are numbered in the order of their commits, without gaps.
    CREATE FUNCTION append_log(for_tenant bigint, log_writer smallint, ${logParameters})
    RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      grown bigint;
    BEGIN
      INSERT INTO log_heads (tenant, writer, size) VALUES (for_tenant, log_writer, log_records)
      ON CONFLICT (tenant, writer) DO UPDATE SET size = log_heads.size + excluded.size
      RETURNING size INTO grown;
      INSERT INTO log (tenant, writer, first_record, records, first_at, last_at, sealed)
      VALUES (for_tenant, log_writer, grown - log_records, log_records, log_first_at, log_last_at, log_sealed);
    END $$;

    -- Removes those of these counters that stand at zero, unless they say when they last rose. Their rows are locked first, so
    -- that none of them moves meanwhile, in the order in which they are moved. What is removed adds up to zero, whatever rows
    -- are added meanwhile.
    CREATE FUNCTION remove_zero_counters(for_tenant bigint, names text[])
    RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      zero text;
      held smallint[];
    BEGIN
      FOR zero IN
        SELECT name FROM counters WHERE tenant = for_tenant AND name = ANY (names)
        GROUP BY name HAVING sum(value) = 0 AND max(at) IS NULL ORDER BY name
      LOOP
        SELECT array_agg(shard) INTO held FROM (
          SELECT shard FROM counters WHERE tenant = for_tenant AND name = zero ORDER BY shard FOR UPDATE
        ) locked;
        PERFORM FROM counters WHERE tenant = for_tenant AND name = zero AND shard = ANY (held)
        HAVING sum(value) = 0 AND max(at) IS NULL;
        IF FOUND THEN
          DELETE FROM counters WHERE tenant = for_tenant AND name = zero AND shard = ANY (held);
        END IF;
      END LOOP;
    END $$;

    -- Changes of who may do what; each stands behind reviseTenant, so none needs a condition of its own.
    CREATE FUNCTION apply_grants(for_tenant bigint, more jsonb) RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
      c record;
    BEGIN
      FOR c IN SELECT * FROM jsonb_to_recordset(more -> 'putTenant') r(sealed bytea) LOOP
        UPDATE tenants SET sealed = c.sealed WHERE tenant = for_tenant;
      END LOOP;

      IF more ? 'putApplication' THEN
        INSERT INTO applications (tenant, application_id, sealed)
        SELECT for_tenant, r.* FROM jsonb_to_recordset(more -> 'putApplication') r(id text, sealed bytea)
        ON CONFLICT (tenant, application_id) DO UPDATE SET sealed = excluded.sealed;
      END IF;

      FOR c IN SELECT * FROM jsonb_to_recordset(more -> 'deleteApplication') r(id text) LOOP
        DELETE FROM applications WHERE tenant = for_tenant AND application_id = c.id;
      END LOOP;

      -- With an application go all of its keys.
      FOR c IN
        SELECT k.hash FROM api_keys k, (
          SELECT r.id AS application_id, NULL AS key_id
          FROM jsonb_to_recordset(more -> 'deleteApplication') r(id text)
          UNION ALL
          SELECT r.application_id, r.id
          FROM jsonb_to_recordset(more -> 'deleteApiKey') r(application_id text, id text)
        ) gone
        WHERE k.tenant = for_tenant AND k.application_id = gone.application_id
          AND (gone.key_id IS NULL OR k.key_id = gone.key_id)
      LOOP
        DELETE FROM api_keys WHERE hash = c.hash;
        DELETE FROM key_uses WHERE tenant = for_tenant AND hash = c.hash;
      END LOOP;

      IF more ? 'putApiKey' THEN
        INSERT INTO api_keys (tenant, hash, key_id, application_id, expires_at, sealed)
        SELECT for_tenant, r.* FROM jsonb_to_recordset(more -> 'putApiKey')
          r(hash bytea, id text, application_id text, expires_at bigint, sealed bytea);
      END IF;

      IF more ? 'putResource' THEN
        INSERT INTO resources (tenant, kind, resource_id, hash, sealed)
        SELECT for_tenant, r.* FROM jsonb_to_recordset(more -> 'putResource')
          r(kind text, id text, hash bytea, sealed bytea)
        ON CONFLICT (tenant, kind, resource_id)
          DO UPDATE SET hash = excluded.hash, sealed = excluded.sealed;
      END IF;

      FOR c IN SELECT * FROM jsonb_to_recordset(more -> 'deleteResource') r(kind text, id text) LOOP
        DELETE FROM resources WHERE tenant = for_tenant AND kind = c.kind AND resource_id = c.id;
      END LOOP;

      IF more ? 'deleteTenant' THEN
        -- Waits for the writes of the tenant that are under way; those to come find it gone. They hold the lock where
        -- they are made: here, and on Citus at the shard, to which the second statement is sent.
        PERFORM pg_advisory_xact_lock(for_tenant);
        PERFORM pg_advisory_xact_lock(for_tenant)
        FROM (SELECT count(*) FROM tokens WHERE tenant = for_tenant AND token_id = '') at_its_shard;
        DELETE FROM tenants WHERE tenant = for_tenant;
        DELETE FROM tenant_keys WHERE tenant = for_tenant;
        DELETE FROM applications WHERE tenant = for_tenant;
        DELETE FROM api_keys WHERE tenant = for_tenant;
        DELETE FROM resources WHERE tenant = for_tenant;
        INSERT INTO dead_tenants (tenant) VALUES (for_tenant) ON CONFLICT DO NOTHING;
      END IF;
    END $$;

    -- For a batch as one: a condition that fails anywhere ends the transaction.
    CREATE FUNCTION apply_or_abort(${parameters})
    RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      IF apply_changes(${changes}) IS NOT NULL
      THEN RAISE EXCEPTION 'a condition failed' USING ERRCODE = 'SR001';
      END IF;
    END $$;

    ${applyOrUndo('apply_or_undo')}

    -- The same for a set that changes grants. On Citus it is made by the coordinator: what is notified there is heard.
    ${applyOrUndo('revise_or_undo')}

    -- Appends to the evidence if nobody else has since the newest checkpoint was read.
    CREATE FUNCTION put_checkpoint(if_size bigint, new_size bigint, new_at bigint, new_note text, new_sealed bytea,
      positions bigint[], tenants bigint[], writers bigint[], sizes bigint[], roots bytea[])
    RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock(${advisoryLocks.checkpoint});
      IF (SELECT max(size) FROM log_checkpoints) IS DISTINCT FROM if_size THEN RETURN false; END IF;
      INSERT INTO log_checkpoints (size, at, note, sealed) VALUES (new_size, new_at, new_note, new_sealed);
      INSERT INTO log_leaves (position, tenant, writer, size, root)
      SELECT * FROM unnest(positions, tenants, writers, sizes, roots);
      RETURN true;
    END $$;

    CREATE FUNCTION create_tenant(new_id text, new_sealed bytea, new_keys json, new_applications json,
      new_api_keys json, ${logParameters})
    RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE
      made bigint;
    BEGIN
      INSERT INTO tenants (tenant_id, revision, sealed) VALUES (new_id, 1, new_sealed) RETURNING tenant INTO made;
      INSERT INTO tenant_keys (tenant, purpose, version, wrapped)
      SELECT made, r.* FROM json_to_recordset(new_keys) r(purpose text, version bigint, wrapped bytea);
      INSERT INTO applications (tenant, application_id, sealed)
      SELECT made, r.* FROM json_to_recordset(new_applications) r(id text, sealed bytea);
      INSERT INTO api_keys (tenant, key_id, application_id, hash, expires_at, sealed)
      SELECT made, r.* FROM json_to_recordset(new_api_keys)
        r(id text, application_id text, hash bytea, expires_at bigint, sealed bytea);
      INSERT INTO log_owners (tenant, tenant_id) VALUES (made, new_id);
      PERFORM append_log(made, 0::smallint, log_records, log_first_at, log_last_at, log_sealed);
      RETURN made;
    END $$;
`
