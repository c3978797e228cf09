import * as columns from '../columns.ts'
import type { KeyRow, LeaseRow, NewTenant } from '../rows.ts'
import { vaultKeys } from '../sql/statements.ts'
import { contentTables, tableNamed } from '../tables.ts'
import type { Answer, Connection, Statement } from './connection.ts'
import { deleteSome, skipLocked } from './delete-some.ts'
import { isWorthRepeating, unavailable } from './failures.ts'
import { bytes, integer, text } from './json-values.ts'

const attemptsMax = 8

/** Writes beside the request path; each is one statement, and so one transaction of its own. */
export class UpkeepWrites {
  readonly #connection: Connection
  readonly #isSharded: boolean

  constructor(connection: Connection, { isSharded }: { isSharded: boolean }) {
    this.#connection = connection
    this.#isSharded = isSharded
  }

  purgeTransients(now: number, limit: number): Promise<number> {
    return this.#purgeDue('transients', now, limit)
  }

  purgeResults(now: number, limit: number): Promise<number> {
    return this.#purgeDue('results', now, limit)
  }

  async purgeDeadTenants(limit: number): Promise<number> {
    const { rows } = await this.#run({ text: 'SELECT tenant FROM dead_tenants ORDER BY tenant LIMIT 1' })
    const tenant = rows[0]?.tenant
    if (tenant === undefined) return 0
    for (const table of contentTables) {
      const { rowCount } = await this.#run({
        text: deleteSome(table, `tenant = $1 LIMIT $2 ${skipLocked}`),
        values: [tenant, limit],
      })
      if (Number(rowCount) > 0) return Number(rowCount)
    }
    await this.#run({ text: 'DELETE FROM dead_tenants WHERE tenant = $1', values: [tenant] })
    return 1
  }

  /** Frees the rows that were deleted. Which bytes stay in pages, log and backups is PostgreSQL's to say. */
  async shred(): Promise<void> {
    await this.#run({ text: 'VACUUM (SKIP_LOCKED) transients, tenant_keys' })
  }

  async createTenant({ id, sealed, keys, applications, apiKeys }: NewTenant): Promise<number> {
    const { rows } = await this.#run({
      text: 'SELECT create_tenant_2($1, $2, $3, $4, $5) AS tenant',
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
      ],
    })
    return Number(rows[0]?.tenant)
  }

  async noteKeyUse(uses: readonly { hash: Uint8Array; at: number }[]): Promise<void> {
    await this.#run({
      text: `
        INSERT INTO key_uses AS u (tenant, hash, last_used_at)
        SELECT k.tenant, k.hash, max(c.at) FROM unnest($1::bytea[], $2::bigint[]) c(hash, at)
        JOIN api_keys k ON k.hash = c.hash GROUP BY k.tenant, k.hash
        ON CONFLICT (tenant, hash) DO UPDATE SET last_used_at = greatest(u.last_used_at, excluded.last_used_at)`,
      values: [uses.map(({ hash }) => hash), uses.map(({ at }) => at)],
    })
  }

  async ensureVaultKeys(keys: readonly KeyRow[]): Promise<KeyRow[]> {
    // Of two nodes that find none, one waits for the other's rows and then skips all of its own.
    await this.#run({
      text: `
        INSERT INTO vault_keys (purpose, version, wrapped)
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[]) WHERE NOT EXISTS (SELECT FROM vault_keys)
        ON CONFLICT DO NOTHING`,
      values: [
        keys.map(({ purpose }) => purpose),
        keys.map(({ version }) => version),
        keys.map(({ wrapped }) => wrapped),
      ],
    })
    const { rows } = await this.#run({ text: vaultKeys })
    return rows.map(columns.keyRow)
  }

  async acquireLease({ name, holder, until }: LeaseRow, now: number): Promise<boolean> {
    const { rowCount } = await this.#run({
      text: `
        INSERT INTO leases AS l (name, holder, until) VALUES ($1, $2, $3)
        ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
        WHERE l.holder = excluded.holder OR l.until <= $4 OR l.until > $5`,
      values: [name, holder, until, now, 2 * until - now],
    })
    return Number(rowCount) > 0
  }

  async releaseLease({ name, holder }: Omit<LeaseRow, 'until'>): Promise<void> {
    await this.#run({ text: 'DELETE FROM leases WHERE name = $1 AND holder = $2', values: [name, holder] })
  }

  async #purgeDue(table: 'transients' | 'results', now: number, limit: number): Promise<number> {
    // Rows of many shards cannot be locked before they are deleted.
    const rows = `expires_at <= $1 ORDER BY expires_at LIMIT $2 ${this.#isSharded ? '' : skipLocked}`
    const { rowCount } = await this.#run({
      text: deleteSome(tableNamed(table), rows),
      values: [now, limit],
    })
    return Number(rowCount)
  }

  async #run(statement: Statement): Promise<Answer> {
    for (let attempt = 1; ; attempt++)
      try {
        return await this.#connection.query(statement)
      } catch (error) {
        if (!isWorthRepeating(error) || attempt === attemptsMax)
          throw unavailable('storage cannot be written', error)
      }
  }
}
