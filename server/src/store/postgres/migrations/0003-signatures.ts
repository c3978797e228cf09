import type { Migration } from '../../sql/migration.ts'
import { applySetsBy, changeParameters } from './apply-sets.ts'

/**
 * Adds to each index entry a rough record of all the token's terms (term-signature.ts). Existing entries have none. The
 * table is altered in a DO block: Citus forwards each statement of a block by itself, but forwards a whole message with
 * each of its statements.
 */
export const signatures: Migration = {
  number: 3,
  name: 'signatures',
  sql: `
    CREATE FUNCTION apply_changes_3(${changeParameters})
    RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
      conflict text;
      c record;
    BEGIN
      conflict := apply_changes_2(for_tenant, counter_shard, inserted_tokens, NULL, claimed_matches,
        kept_results, counter_moves, more);
      IF conflict IS NOT NULL OR added_terms IS NULL THEN RETURN conflict; END IF;

      INSERT INTO terms (tenant, term, created_at, token_id, expires_at, tag, signature)
      SELECT for_tenant, term.term, r.created_at, r.token_id, r.expires_at, term.tag, r.signature
      FROM json_to_recordset(added_terms)
        r(token_id text, created_at bigint, expires_at bigint, signature bigint, terms bytea[], tags bytea[]),
        unnest(r.terms, r.tags) term(term, tag)
      ON CONFLICT (tenant, term, created_at, token_id)
        DO UPDATE SET expires_at = excluded.expires_at, tag = excluded.tag, signature = excluded.signature;

      -- A node of the release before knows no signatures, and leaves entries that would deny what it has added.
      -- Which they are no index tells: all of the tenant are gone through, while such nodes are still up.
      IF more ? 'updateToken' THEN
        FOR c IN
          SELECT r.token_id, r.created_at
          FROM json_to_recordset(added_terms) r(token_id text, created_at bigint, signature bigint),
            jsonb_to_recordset(more -> 'updateToken') u(token_id text)
          WHERE r.signature IS NULL AND u.token_id = r.token_id
        LOOP
          UPDATE terms SET signature = NULL
          WHERE tenant = for_tenant AND created_at = c.created_at AND token_id = c.token_id
            AND signature IS NOT NULL;
        END LOOP;
      END IF;
      RETURN NULL;
    END $$;

    ${applySetsBy('apply_changes_3')}

    DO $$ BEGIN
      ALTER TABLE terms ADD COLUMN signature bigint;
    END $$;
  `,
}
