import type { PendingDeadlines } from '../../domain/time/instant.ts'
import * as columns from '../columns.ts'
import type { StandaloneWrites } from '../port.ts'
import { vaultKeys } from '../sql/statements.ts'
import { contentTables, tableNamed } from '../tables.ts'
import type { Connection, QueryAnswer, Statement } from './connection.ts'
import { deleteSome, skipLocked } from './delete-some.ts'
import { isWorthRepeating, unavailable } from './failures.ts'
import { bytes, integer, text } from './json-values.ts'
import { sealedLog } from './log-parameters.ts'

const attemptsMax = 8

/** How many blocks of a log are deleted in one transaction. */
const cutAtOnce = 500

/** Each statement is its own transaction; `drain` waits for write sets that were submitted earlier. */
/** Storage is gapless, so what any of these tables has was once counted. */
const headEvidence = [
  'SELECT writer, max(first_record + records) AS size FROM log WHERE tenant = $1 GROUP BY writer',
  'SELECT writer, max(size) AS size FROM log_trees WHERE tenant = $1 GROUP BY writer',
  'SELECT writer, max(size) AS size FROM log_leaves WHERE tenant = $1 GROUP BY writer',
]

export const standaloneWrites = (
  connect: () => Promise<Connection>,
  { isSharded, drain }: { isSharded: boolean; drain: () => Promise<void> },
): StandaloneWrites => {
  const run = async (statement: Statement): Promise<QueryAnswer> => {
    for (let attempt = 1; ; attempt++)
      try {
        return await (await connect()).query(statement)
      } catch (error) {
        if (!isWorthRepeating(error) || attempt === attemptsMax)
          throw unavailable('storage cannot be written', error)
      }
  }

  const purgeDue = async (
    table: 'transients' | 'results',
    { after, upTo }: PendingDeadlines,
    limit: number,
  ): Promise<number> => {
    const purge = async (due: string, bound: number, rowsMax: number): Promise<number> => {
      // Rows on many shards cannot be locked before they are deleted. A PATCH may renew a cvc in between.
      const which = `expires_at ${due} $1 ORDER BY expires_at LIMIT $2 ${isSharded ? '' : skipLocked}`
      const text = deleteSome(tableNamed(table), which, `d.expires_at ${due} $1`)
      const { rowCount } = await run({ text, values: [bound, rowsMax] })
      return Number(rowCount)
    }
    await drain()
    // Two statements: one with both conditions, in order, would walk all pending rows.
    const over = await purge('<=', after, limit)
    return over < limit ? over + (await purge('>', upTo, limit - over)) : over
  }

  return {
    purgeTransients: (pending, limit) => purgeDue('transients', pending, limit),
    purgeResults: (pending, limit) => purgeDue('results', pending, limit),
    dropResult: async (tenant, hash, { after, upTo }) => {
      await run({
        text: 'DELETE FROM results WHERE tenant = $1 AND hash = $2 AND (expires_at <= $3 OR expires_at > $4)',
        values: [tenant, hash, after, upTo],
      })
    },
    purgeDeadTenants: async limit => {
      await drain()
      const { rows } = await run({ text: 'SELECT min(tenant)::text AS tenant FROM dead_tenants' })
      // As text: a number too large for a double would come back as a different one.
      const tenant = rows[0]?.tenant
      if (typeof tenant !== 'string') return 0
      for (const table of contentTables) {
        const { rowCount } = await run({
          text: deleteSome(table, `tenant = $1 LIMIT $2 ${skipLocked}`),
          values: [tenant, limit],
        })
        if (Number(rowCount) > 0) return Number(rowCount)
        // If another node's delete fails, its rows stay, and nothing would look for them again.
        const left = await run({
          text: `SELECT 1 FROM ${table.name} WHERE tenant = $1 LIMIT 1`,
          values: [tenant],
        })
        if (left.rows.length > 0) return 0
      }
      const { rowCount } = await run({
        text: 'DELETE FROM dead_tenants WHERE tenant = $1',
        values: [tenant],
      })
      return Number(rowCount)
    },
    // Frees the space of deleted and replaced rows. PostgreSQL decides which bytes stay in pages, log and backups.
    shred: async () => {
      await run({ text: 'VACUUM (SKIP_LOCKED) transients, tenant_keys, vault_keys' })
    },

    createTenant: async ({ id, sealed, keys, applications, apiKeys }, log) => {
      const { rows } = await run({
        text: 'SELECT create_tenant($1, $2, $3, $4, $5, $6, $7, $8, $9) AS tenant',
        values: [
          id,
          sealed,
          JSON.stringify(
            keys.map(row => ({
              purpose: text(row.purpose),
              version: integer(row.version),
              wrapped: bytes(row.wrapped),
            })),
          ),
          JSON.stringify(applications.map(row => ({ id: text(row.id), sealed: bytes(row.sealed) }))),
          JSON.stringify(
            apiKeys.map(row => ({
              id: text(row.id),
              application_id: text(row.applicationId),
              hash: bytes(row.hash),
              expires_at: integer(row.expiresAt),
              sealed: bytes(row.sealed),
            })),
          ),
          ...sealedLog([log]),
        ],
      })
      return Number(rows[0]?.tenant)
    },

    putLogTree: async ({ tenant, writer, size, sealed }, ifSize) => {
      const { rows } = await run(
        ifSize === null
          ? {
              text: `
                INSERT INTO log_trees (tenant, writer, size, sealed) VALUES ($1, $2, $3, $4)
                ON CONFLICT DO NOTHING RETURNING size`,
              values: [tenant, writer, size, sealed],
            }
          : {
              text: `
                UPDATE log_trees SET size = $3, sealed = $4 WHERE tenant = $1 AND writer = $2 AND size = $5
                RETURNING size`,
              values: [tenant, writer, size, sealed, ifSize],
            },
      )
      return rows.length > 0
    },

    putCheckpoint: async ({ size, at, note, sealed }, leaves, ifSize) => {
      const { rows } = await run({
        text: 'SELECT put_checkpoint($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS is_put',
        values: [
          ifSize,
          size,
          at,
          note,
          sealed,
          leaves.map(leaf => leaf.position),
          leaves.map(leaf => leaf.tenant),
          leaves.map(leaf => leaf.writer),
          leaves.map(leaf => leaf.size),
          leaves.map(leaf => leaf.root),
        ],
      })
      return Boolean(rows[0]?.is_put)
    },

    cutLog: async ({ tenant, writer, size, sealed }, ifSealed, before) => {
      // The edge at the cut comes first. Blocks that stay behind when a process is killed go with the next cut.
      const replaced = await run({
        text: `
          UPDATE log_trees SET size = $3, sealed = $4 WHERE tenant = $1 AND writer = $2 AND sealed = $5
          RETURNING size`,
        values: [tenant, writer, size, sealed, ifSealed],
      })
      if (replaced.rows.length === 0) return false
      for (;;) {
        const cut = await run({
          text: deleteSome(
            tableNamed('log'),
            `tenant = $1 AND writer = $2 AND first_record < $3 AND first_record + records <= $3
             ORDER BY first_record LIMIT ${cutAtOnce} ${skipLocked}`,
          ),
          values: [tenant, writer, before],
        })
        if (Number(cut.rowCount) === 0) return true
      }
    },

    mendNumbers: async tenant => {
      await run({
        text: 'UPDATE tenants SET revision = 1 WHERE tenant = $1 AND revision NOT BETWEEN 1 AND $2',
        values: [tenant, Number.MAX_SAFE_INTEGER],
      })
      // All rows that a counter is spread over, because their sum may be too large.
      await run({
        text: `
          UPDATE counters SET value = -1 WHERE tenant = $1 AND name IN (
            SELECT name FROM counters WHERE tenant = $1 GROUP BY name
            HAVING sum(value) NOT BETWEEN -$2::bigint AND $2::bigint OR min(value) < -$2::bigint OR max(value) > $2::bigint)`,
        values: [tenant, Number.MAX_SAFE_INTEGER],
      })
      // Told first and written then: on Citus not all of these tables are where the tenant is.
      const sizes = new Map<number, number>()
      for (const sizeIn of headEvidence)
        for (const { writer, size } of (await run({ text: sizeIn, values: [tenant] })).rows)
          sizes.set(Number(writer), Math.max(Number(size), sizes.get(Number(writer)) ?? 0))
      let raised = 0
      for (const [writer, size] of sizes) {
        const { rowCount } = await run({
          text: `
            INSERT INTO log_heads AS h (tenant, writer, size) VALUES ($1, $2, $3)
            ON CONFLICT (tenant, writer) DO UPDATE SET size = excluded.size WHERE h.size < excluded.size`,
          values: [tenant, writer, size],
        })
        raised += Number(rowCount)
      }
      return raised
    },

    noteKeyUse: async uses => {
      await run({
        text: `
          INSERT INTO key_uses AS u (tenant, hash, last_used_at)
          SELECT k.tenant, k.hash, max(c.at) FROM unnest($1::bytea[], $2::bigint[]) c(hash, at)
          JOIN api_keys k ON k.hash = c.hash GROUP BY k.tenant, k.hash
          ON CONFLICT (tenant, hash) DO UPDATE SET last_used_at = greatest(u.last_used_at, excluded.last_used_at)`,
        values: [uses.map(({ hash }) => hash), uses.map(({ at }) => at)],
      })
    },

    ensureVaultKeys: async keys => {
      // If two nodes find no keys, one waits for the other's rows and then skips all of its own.
      await run({
        text: `
          INSERT INTO vault_keys (purpose, version, wrapped)
          SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])
          ON CONFLICT DO NOTHING`,
        values: [
          keys.map(({ purpose }) => purpose),
          keys.map(({ version }) => version),
          keys.map(({ wrapped }) => wrapped),
        ],
      })
      const { rows } = await run({ text: vaultKeys })
      return rows.map(columns.keyRow)
    },

    replaceKey: async (owner, { purpose, version, wrapped: before }, wrapped) => {
      const isVaults = owner === 'vault'
      const { rowCount } = await run({
        text: `
          UPDATE ${isVaults ? 'vault_keys' : 'tenant_keys'} SET wrapped = $1
          WHERE purpose = $2 AND version = $3 AND wrapped = $4${isVaults ? '' : ' AND tenant = $5'}`,
        values: [wrapped, purpose, version, before, ...(isVaults ? [] : [owner])],
      })
      return Number(rowCount) > 0
    },

    acquireLease: async ({ name, holder, until }, now) => {
      const { rowCount } = await run({
        text: `
          INSERT INTO leases AS l (name, holder, until) VALUES ($1, $2, $3)
          ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
          WHERE l.holder = excluded.holder OR l.until <= $4 OR l.until > $5`,
        values: [name, holder, until, now, 2 * until - now],
      })
      return Number(rowCount) > 0
    },

    releaseLeases: async (holder, names) => {
      await run({ text: 'DELETE FROM leases WHERE holder = $1 AND name = ANY ($2)', values: [holder, names] })
    },
  }
}
