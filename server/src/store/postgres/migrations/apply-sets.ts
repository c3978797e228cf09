/**
 * Parameters of all these functions: the tenant, which of each counter's rows to move, and changes as lists
 * (packed-changes.ts).
 */
export const changeParameters = `for_tenant bigint, counter_shard smallint, inserted_tokens json,
      added_terms json, claimed_matches json, kept_results json, counter_moves json, more jsonb`

const changes = `for_tenant, counter_shard, inserted_tokens, added_terms, claimed_matches,
        kept_results, counter_moves, more`

/** For one set: a failed condition undoes this set alone, and is returned. */
const orUndo = (name: string, applyChanges: string): string => `
    CREATE OR REPLACE FUNCTION ${name}(${changeParameters})
    RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
      conflict text;
    BEGIN
      conflict := ${applyChanges}(${changes});
      IF conflict IS NOT NULL THEN RAISE EXCEPTION 'a condition failed' USING ERRCODE = 'SR001'; END IF;
      RETURN NULL;
    EXCEPTION WHEN SQLSTATE 'SR001' THEN
      RETURN conflict;
    END $$;`

/** The functions that nodes call to have their sets applied; `applyChanges` names the function that makes the changes. */
export const applySetsBy = (applyChanges: string): string => `
    -- For a batch as one: a condition that fails anywhere ends the transaction.
    CREATE OR REPLACE FUNCTION apply_or_abort_2(${changeParameters})
    RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      IF ${applyChanges}(${changes}) IS NOT NULL
      THEN RAISE EXCEPTION 'a condition failed' USING ERRCODE = 'SR001';
      END IF;
    END $$;

    ${orUndo('apply_or_undo_2', applyChanges)}

    -- The same for a set that changes grants. On Citus it is made by the coordinator: what is notified there is heard.
    ${orUndo('revise_or_undo_2', applyChanges)}`
