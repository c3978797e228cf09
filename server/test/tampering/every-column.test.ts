import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { fileKeyProvider } from '../../src/crypto/file-key-provider.ts'
import type { JsonObject } from '../../src/domain/json.ts'
import { asVaultError } from '../../src/http/problem.ts'
import { authenticate } from '../../src/operations/authenticate.ts'
import { getToken } from '../../src/operations/get-token.ts'
import { findResult, requestHash } from '../../src/operations/idempotency.ts'
import { listTokens } from '../../src/operations/list-tokens.ts'
import { openVault } from '../../src/operations/open-vault.ts'
import type { Caller } from '../../src/operations/vault.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { cast } from '../rig/cast.ts'
import { Seeded } from '../rig/seeded.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { type TestApplication, TestVault } from '../rig/test-vault.ts'

const masked: TestApplication = {
  rules: [{ priority: 1, container: '/', transform: 'mask', permissions: ['token:read'] }],
}
/** Of tables with many rows that only propose, a few tell as much as all. */
const rowsPerTable = 3
const allColumns = { filter: { metadata: new Map<string, string>() }, page: 1, size: 100 }

/** Everything that can be done to a value without the keys. */
type Change = (value: SQLInputValue, others: readonly SQLInputValue[], random: Seeded) => SQLInputValue
const changes: Record<string, Change> = {
  'a bit flipped': (value, _others, random) => {
    if (value instanceof Uint8Array) {
      const bytes = Uint8Array.from(value)
      const at = random.below(bytes.length)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8))
      return bytes
    }
    if (typeof value === 'string') return `${value.slice(0, -1)}${value.endsWith('0') ? '1' : '0'}`
    return typeof value === 'number' ? value + 1 - 2 * random.below(2) : 1
  },
  'the value of another row': (value, others, random) =>
    random.pick(others.filter(other => !isDeepStrictEqual(other, value))) ?? null,
  'cut in half': value =>
    value instanceof Uint8Array || typeof value === 'string' ? value.slice(0, value.length / 2) : 0,
  'nothing in its place': value => (value instanceof Uint8Array ? new Uint8Array(0) : null),
}

describe('a storage of which one value was changed (sqlite)', () => {
  const folder = temporaryFolder()
  const keys: string[] = []
  const ids: string[] = []
  const source = join(folder.path, 'vault.db')
  const spoilt = join(folder.path, 'spoilt.db')
  const now = Date.parse('2026-03-01T12:00:00Z')
  let sound: Map<string, unknown>

  before(async () => {
    const vault = await TestVault.start({ now })
    const tenants: Record<string, TestApplication>[] = [{ owner: cast.owner, masked }, { owner: cast.owner }]
    for (const applications of tenants) {
      const made = await vault.tenant(applications)
      keys.push(...Object.values<string>(made.keys))
      for (const n of [1, 2]) {
        const owner = made.keys.owner ?? ''
        const body = {
          type: 'card',
          data: { number: '4242424242424242', expiration_month: n, cvc: `12${n}` },
        }
        const card = await vault.send('POST', '/tokens', {
          key: owner,
          body: { ...body, deduplicate_token: n === 1 },
          headers: { 'svc-idempotency-key': `once-${n}` },
        })
        const text = await vault.create(owner, {
          type: 'token',
          data: `text ${n} of ${keys.length}`,
          mask: '{{ data | last4 }}',
          metadata: { n: String(n) },
          expires_at: '2027-01-01',
        })
        ids.push(card.body.id, text.id)
      }
    }
    await vault.store.shred()
    await vault.service.close()
    cpSync(join(vault.folder.path, 'vault.db'), source)
    cpSync(join(vault.folder.path, 'master.key'), join(folder.path, 'master.key'))
    vault.folder.remove()
    cpSync(source, spoilt)
    sound = await readEverything()
  })
  after(() => folder.remove())

  /** What every key is shown of every token, of its list and of its kept answers; a refusal is its code. */
  const readEverything = async (): Promise<Map<string, unknown>> => {
    const seen = new Map<string, unknown>()
    const store = openSqlite({ path: spoilt, writing: 'inline' })
    try {
      const keyProvider = fileKeyProvider(join(folder.path, 'master.key'))
      const vault = await openVault({ store, keyProvider, clock: () => now })
      for (const [who, key] of keys.entries()) {
        const look = async (what: string, work: (caller: Caller) => Promise<unknown>): Promise<void> => {
          try {
            const caller = await authenticate(vault, key)
            seen.set(`${who} ${what}`, caller === undefined ? 'unauthorized' : await work(caller))
          } catch (error) {
            seen.set(`${who} ${what}`, asVaultError(error).code)
          }
        }
        for (const id of ids) await look(id, async caller => (await getToken(vault, caller, id)).data)
        await look('list', async caller =>
          ((await listTokens(vault, caller, allColumns)).data as JsonObject[]).map(({ id, data }) => [
            id,
            data,
          ]),
        )
        for (const n of [1, 2])
          await look(`kept ${n}`, async caller => {
            const request = { method: 'POST', path: '/tokens', key: `once-${n}`, body: new Uint8Array(0) }
            return (await findResult(vault, caller, requestHash(caller, request), request))?.answer
          })
      }
    } catch (error) {
      // The vault does not open at all.
      asVaultError(error)
    } finally {
      await store.close()
    }
    return seen
  }

  /** A refusal, less than before, or the same; a cvc may be hidden early, which no reader mistakes for a value. */
  const assertNothingNew = (seen: Map<string, unknown>, what: string): void => {
    for (const [look, shown] of seen) {
      const before = sound.get(look)
      if (typeof shown === 'string' && shown in { notFound: 1, unauthorized: 1, internal: 1, unavailable: 1 })
        continue
      if (
        shown === undefined ||
        isDeepStrictEqual(shown, before) ||
        isDeepStrictEqual(shown, withoutCvc(before))
      )
        continue
      const isPartOfList =
        look.endsWith('list') &&
        (shown as [string, unknown][]).every(([id, data]) =>
          (before as [string, unknown][]).some(
            ([known, value]) =>
              known === id && (isDeepStrictEqual(value, data) || isDeepStrictEqual(withoutCvc(value), data)),
          ),
        )
      assert.ok(isPartOfList, `${what}: ${look} was ${JSON.stringify(before)}, is ${JSON.stringify(shown)}`)
    }
  }
  const withoutCvc = (data: unknown): unknown => {
    if (typeof data !== 'object' || data === null) return data
    const { cvc: _hidden, ...rest } = data as JsonObject
    return rest
  }

  test('control: everything is seen while nothing is changed', () => {
    const shown = [...sound.values()].filter(value => typeof value === 'object' && value !== null)
    assert.ok(shown.length > ids.length, 'tokens, lists and kept answers are shown')
    assert.ok([...sound.values()].includes('notFound'), 'other tenants see nothing')
  })

  for (const [name, change] of Object.entries(changes))
    test(`§1.1 §1.3 C28.1 C30.2 C31.9 with ${name}, in whichever column of whichever table, shows nothing that it did not show before`, async () => {
      const seed = 1
      const random = new Seeded(seed)
      for (const { table, column, row, value, others } of everyValue()) {
        const changed = change(value, others, random)
        if (isDeepStrictEqual(changed, value)) continue
        cpSync(source, spoilt)
        if (!put(table, column, row, changed)) continue
        assertNothingNew(await readEverything(), `seed ${seed}, ${table}.${column} of row ${row}`)
      }
    })

  type Value = {
    table: string
    column: string
    row: number
    value: SQLInputValue
    others: readonly SQLInputValue[]
  }
  const everyValue = (): Value[] => {
    const database = new DatabaseSync(source, { readOnly: true })
    const tables = database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .all()
    const values = tables.flatMap(({ name }) => {
      const rows = database.prepare(`SELECT * FROM ${name}`).all()
      return rows.slice(0, rowsPerTable).flatMap((columns, row) =>
        Object.entries(columns).map(([column, value]) => ({
          table: String(name),
          column,
          row,
          value: value as SQLInputValue,
          others: rows.map(other => other[column] as SQLInputValue),
        })),
      )
    })
    database.close()
    return values
  }

  /** False where the schema itself refuses the value. */
  const put = (table: string, column: string, row: number, value: SQLInputValue): boolean => {
    const database = new DatabaseSync(spoilt)
    try {
      const target = database.prepare(`SELECT * FROM ${table} LIMIT 1 OFFSET ?`).get(row) ?? {}
      const names = Object.keys(target)
      database
        .prepare(`UPDATE ${table} SET ${column} = ? WHERE ${names.map(name => `${name} IS ?`).join(' AND ')}`)
        .run(value, ...(Object.values(target) as SQLInputValue[]))
      return true
    } catch {
      return false
    } finally {
      database.close()
    }
  }
})
