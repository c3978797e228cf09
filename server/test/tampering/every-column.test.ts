import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { SQLInputValue } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../src/domain/json/json.ts'
import { asVaultError } from '../../src/http/problem.ts'
import { fileKeyProvider } from '../../src/keys/file/file-key-provider.ts'
import { listTokens } from '../../src/operations/finding/list-tokens.ts'
import { wholePage } from '../../src/operations/finding/page.ts'
import { authenticate } from '../../src/operations/keys/authenticate.ts'
import { findProxy } from '../../src/operations/proxies/find-proxy.ts'
import { getToken } from '../../src/operations/tokens/get-token.ts'
import { openVault } from '../../src/operations/vault/open-vault.ts'
import type { Caller, Vault } from '../../src/operations/vault/vault.ts'
import { verifyTenant } from '../../src/operations/verify/verify-tenant.ts'
import { findResult, requestHash } from '../../src/operations/writing/kept-results.ts'
import type { Store } from '../../src/store/port.ts'

import { granted } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { endlessTurn, someAct } from '../rig/caller-of.ts'
import { type Engine, engines } from '../rig/engines.ts'

import { isLong } from '../rig/long-run.ts'
import { Seeded } from '../rig/seeded.ts'
import { owner, type TestApplication, TestVault } from '../rig/test-vault.ts'
import { type Place, type SpoiltStorage, spoil } from './spoilt-storage.ts'

const masked: TestApplication = {
  rules: [{ priority: 1, container: '/', transform: 'mask', permissions: ['token:read'] }],
}
/** One row of each table shows nearly as much as all of them. */
const rowsPerTable = isLong ? 3 : 1
const allColumns = { filter: { metadata: [] }, page: 1, size: 100 }
const seed = 1

/** Everything that can be done to a value without the keys. */
type Change = (value: SQLInputValue, others: readonly SQLInputValue[], random: Seeded) => SQLInputValue
const flipBit: Change = (value, _others, random) => {
  if (value instanceof Uint8Array) {
    const bytes = Uint8Array.from(value)
    const at = random.below(bytes.length)
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8))
    return bytes
  }
  if (typeof value === 'string') return `${value.slice(0, -1)}${value.endsWith('0') ? '1' : '0'}`
  return typeof value === 'number' ? value + 1 - 2 * random.below(2) : 1
}
const changes: Record<string, Change> = {
  'a bit flipped': flipBit,
  'a value taken from another row': (value, others, random) =>
    random.pick(others.filter(other => !isDeepStrictEqual(other, value))) ?? null,
  'a value cut in half': value =>
    value instanceof Uint8Array || typeof value === 'string' ? value.slice(0, value.length / 2) : 0,
  'an emptied value': value => (value instanceof Uint8Array ? new Uint8Array(0) : null),
}

/** What is shown of a changed value is decided above storage. Enough of it on the other engines that each of their columns is met. */
const changesOn = (engine: Engine): [string, Change][] =>
  Object.entries(changes).filter(
    ([name]) => isLong || engine === engines[0] || name === 'a value taken from another row',
  )

/** Tables that only propose, and those of their values that say nothing about tokens. */
const indexes = ['terms', 'matches', 'counters']
const saysNothing = ({ table, column, row }: Place): boolean =>
  (table === 'counters' && (['at', 'shard'].includes(column) || /^(active|seals):/.test(String(row.name)))) ||
  // If a claim is gone, or belongs to a tenant that does not exist, anyone may make it.
  (table === 'matches' && column === 'tenant')

for (const engine of engines)
  describe(`storage with one changed value (${engine.name})`, () => {
    const keys: string[] = []
    const proxyKeys: string[] = []
    const ids: string[] = []
    const now = Date.parse('2026-03-01T12:00:00Z')
    let source: TestVault
    let storage: SpoiltStorage
    let sound: Map<string, unknown>

    before(async () => {
      source = await TestVault.start({ engine, now })
      const { manager } = ownerAndManager
      const tenants: Record<string, TestApplication>[] = [
        { owner, masked, manager },
        { owner, manager },
      ]
      for (const applications of tenants) {
        const made = await source.tenant(applications)
        keys.push(...Object.values<string>(made.keys))
        for (const name of ['one', 'two']) proxyKeys.push(await createProxy(made.keys.manager ?? '', name))
        for (const n of [1, 2]) ids.push(...(await createSome(made.keys.owner ?? '', n)))
      }
      await source.store.shred()
      await source.close()
      storage = await spoil(engine, source.folder.path)
      sound = await storage.sound(readEverything)
    })
    after(async () => {
      await storage.close()
      source.folder.remove()
    })

    const createProxy = async (key: string, name: string): Promise<string> => {
      const configuration = { a: `secret of ${name}, number ${proxyKeys.length}` }
      const body = { name, destination_url: `https://${name}.example/${proxyKeys.length}`, configuration }
      return granted(await source.post('/proxies', key, body)).key
    }

    const createSome = async (owner: string, n: number): Promise<string[]> => {
      const data = { number: '4242424242424242', expiration_month: n, cvc: `12${n}` }
      const card = await source.send('POST', '/tokens', {
        key: owner,
        body: { type: 'card', data, deduplicate_token: n === 1 },
        headers: { 'svc-idempotency-key': `once-${n}` },
      })
      const text = await source.create(owner, {
        type: 'token',
        data: `text ${n} of ${keys.length}`,
        mask: '{{ data | last4 }}',
        metadata: { n: String(n) },
        expires_at: '2027-01-01',
      })
      return [card.body.id, text.id]
    }

    const opened = (store: Store): Promise<Vault> =>
      openVault({
        store,
        keyProvider: fileKeyProvider(join(source.folder.path, 'master.key')),
        clock: () => now,
      })

    /** What every key is shown of every token, its list and its kept answers; a refusal is recorded as its code. */
    const readEverything = async (store: Store): Promise<Map<string, unknown>> => {
      const seen = new Map<string, unknown>()
      try {
        const vault = await opened(store)
        for (const [which, key] of proxyKeys.entries()) {
          const found = await Promise.resolve(findProxy(vault, key)).catch(error => asVaultError(error).code)
          const shown =
            typeof found === 'string'
              ? found
              : found && [found.proxy.destinationUrl, found.proxy.configuration.a?.expose('comparing')]
          seen.set(`proxy ${which}`, shown ?? 'unauthorized')
        }
        for (const [who, key] of keys.entries()) {
          const look = async (what: string, work: (caller: Caller) => Promise<unknown>): Promise<void> => {
            try {
              const caller = await authenticate(vault, key)
              seen.set(
                `${who} ${what}`,
                caller === undefined
                  ? 'unauthorized'
                  : await work({ ...caller, work: endlessTurn, act: someAct() }),
              )
            } catch (error) {
              seen.set(`${who} ${what}`, asVaultError(error).code)
            }
          }
          for (const id of ids) await look(id, async caller => (await getToken(vault, caller, id)).data)
          await look('list', async caller =>
            ((await wholePage(await listTokens(vault, caller, allColumns))).data as JsonObject[]).map(
              ({ id, data }) => [id, data],
            ),
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
      }
      return seen
    }

    /** A refusal, less than before, or the same. A cvc may be hidden early, which no reader mistakes for a value. */
    const assertNothingNew = (seen: Map<string, unknown>, what: string): void => {
      for (const [look, shown] of seen) {
        const before = sound.get(look)
        if (
          typeof shown === 'string' &&
          shown in { notFound: 1, unauthorized: 1, internal: 1, unavailable: 1 }
        )
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
                known === id &&
                (isDeepStrictEqual(value, data) || isDeepStrictEqual(withoutCvc(value), data)),
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

    test('control: everything is shown while nothing is changed', async () => {
      const shown = [...sound.values()].filter(value => typeof value === 'object' && value !== null)
      assert.ok(shown.length > ids.length, 'tokens, lists and kept answers are shown')
      assert.ok([...sound.values()].includes('notFound'), 'other tenants see nothing')
      assert.equal(await storage.sound(isIndexWrong), false)
    })

    for (const [name, change] of changesOn(engine))
      test(`with ${name}, in any column of any table, shows nothing it did not show before (§1.3, C28.1, C30.2)`, () =>
        everyValue(change, rowsPerTable, storage.tables, async (place, store) =>
          assertNothingNew(await readEverything(store), `seed ${seed}, ${describePlace(place)}`),
        ))

    test('a deep check finds a changed value in any column of an index entry, a claim or a counter (C24, C26, C15)', () =>
      everyValue(flipBit, 2, indexes, async (place, store) => {
        if (!saysNothing(place)) assert.ok(await isIndexWrong(store), describePlace(place))
      }))

    const isIndexWrong = async (store: Store): Promise<boolean> => {
      const vault = await opened(store)
      for (const { tenant, id } of await store.listTenants()) {
        const tenantKeys = await vault.keyring.of(tenant, id)
        const found = await verifyTenant(vault, { tenantNumber: tenant, keys: tenantKeys })
        assert.deepEqual(found.unreadable.ids, [])
        if (found.wrongCounters > 0) return true
        if ([found.missing, found.extra, found.matches].some(tokens => !tokens.isEmpty)) return true
      }
      return false
    }

    const describePlace = ({ table, column, row }: Place): string =>
      `${table}.${column} of ${JSON.stringify(row).slice(0, 200)}`

    const everyValue = async (
      change: Change,
      rowsMax: number,
      tables: readonly string[],
      work: (place: Place, store: Store) => Promise<void>,
    ): Promise<void> => {
      const random = new Seeded(seed)
      let spoilt = 0
      /** The schema keeps some values out, such as empty ones where there must be one. */
      let kept = 0
      for (const table of tables) {
        const rows = await storage.rows(table)
        for (const row of rows.slice(0, rowsMax))
          for (const [column, value] of Object.entries(row)) {
            const others = rows.map(other => other[column] as SQLInputValue)
            const changed = change(value as SQLInputValue, others, random)
            if (isDeepStrictEqual(changed, value)) continue
            const place = { table, column, row }
            if (await storage.spoilt(place, changed, store => work(place, store))) spoilt++
            else kept++
          }
      }
      assert.ok(spoilt > 0 && spoilt + kept >= tables.length, `only ${spoilt} values could be changed`)
    }
  })
