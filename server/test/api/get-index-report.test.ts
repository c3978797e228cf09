import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pace } from '../../src/domain/pace.ts'
import { TamperedError } from '../../src/domain/tampered-error.ts'
import { computeIndexReports } from '../../src/operations/maintenance/compute-index-reports.ts'
import { sealsCounter } from '../../src/operations/vault/counters.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { spoilTokens } from '../rig/stored-rows.ts'
import { tamper } from '../rig/tamper.ts'
import { owner, type TestVault } from '../rig/test-vault.ts'
import { assertAbsent } from '../rig/traces.ts'

const applications = {
  owner,
  management: { type: 'management', permissions: ['report:read'] },
  other: { type: 'management', permissions: ['tenant:read'] },
} as const
const path = '/tenants/self/reports/indexes'
const empty = { tokens: 0, complete: false, indexes: [] }

const fill = async (vault: TestVault, key: string): Promise<void> => {
  const made = await vault.post('/tokenize', key, [
    ...Array.from({ length: 8 }, (_, i) => ({
      type: 'token',
      data: `secret${i}`,
      metadata: { branch: i < 6 ? 'Basel' : `Bern ${i}`, ['__proto__']: `p${i}` },
      search_indexes: ['{{ data }}', '{{ data | slice: 0 }}'],
    })),
    { type: 'token', data: 'plain', metadata: { branch: 'BASEL' } },
    { type: 'social_security_number', data: '123-45-6789' },
  ])
  assert.equal(made.status, 200, made.text)
}

const index = (
  kind: string,
  name: string,
  tokens: number,
  distinct_terms: number,
  largest_share: number,
) => ({
  kind,
  name,
  tokens,
  distinct_terms,
  largest_share,
})

const figures = [
  index('search_index', '{{ data | last4 }}', 1, 1, 1),
  index('search_index', "{{ data | remove: '-' }}", 1, 1, 1),
  index('search_index', '{{ data | slice: 0 }}', 8, 1, 1),
  index('metadata', 'branch', 9, 3, 0.7778),
  index('search_index', '{{ data }}', 9, 9, 0.1111),
  index('metadata', '__proto__', 8, 8, 0.125),
]
const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1)

onEveryEngine('index report', vault => {
  test('the report is empty before its first run and needs report:read (C26, §5)', async () => {
    const { keys } = await vault().tenant(applications)
    const { status, body } = await vault().get(path, keys.management)
    assert.deepEqual({ status, body }, { status: 200, body: empty })
    for (const key of [keys.owner, keys.other]) assert.equal((await vault().get(path, key)).status, 403)
    assert.equal((await vault().get(`${path}?page=1`, keys.management)).status, 400)
  })

  test('each search index and metadata key is reported with its number of terms and the share of the most common one (C26)', async () => {
    const { keys } = await vault().tenant(applications)
    await fill(vault(), keys.owner)
    await vault().service.jobTimer.runAll()
    const { body } = await vault().get(path, keys.management)
    assert.equal(body.computed_at, new Date(vault().now).toISOString().replace('Z', '+00:00'))
    assert.deepEqual([body.tokens, body.complete], [10, true])
    assert.deepEqual(body.indexes.toSorted(byName), figures.toSorted(byName))
    const shares = body.indexes.map((entry: { largest_share: number }) => entry.largest_share)
    assert.deepEqual(
      shares,
      shares.toSorted((a: number, b: number) => b - a),
    )
  })

  test('the report is renewed after an hour and leaves out deleted and expired tokens (C26)', async () => {
    const { keys } = await vault().tenant(applications)
    await fill(vault(), keys.owner)
    const short = { type: 'token', data: 'short', metadata: { brief: 'yes' } }
    await vault().create(keys.owner, { ...short, expires_at: new Date(vault().now + 1_000).toISOString() })
    await vault().create(keys.owner, { ...short, id: 'deleted' })
    const names = async (): Promise<string[]> =>
      (await vault().get(path, keys.management)).body.indexes.map(({ name }: { name: string }) => name)
    await vault().service.jobTimer.runAll()
    assert.ok((await names()).includes('brief'))
    vault().now += pace.reportIntervalMs - 1
    await vault().delete('/tokens/deleted', keys.owner)
    await vault().service.jobTimer.runAll()
    assert.ok((await names()).includes('brief'))
    vault().now += 1
    await vault().service.jobTimer.runAll()
    assert.ok(!(await names()).includes('brief'))
  })

  test('a report from a time when the clock was ahead is renewed once the clock is right (C26)', async () => {
    const { keys } = await vault().tenant(applications)
    const computedAt = async (): Promise<number> =>
      Date.parse((await vault().get(path, keys.management)).body.computed_at)
    const year = 365 * 86_400_000
    vault().now += year
    await fill(vault(), keys.owner)
    await vault().service.jobTimer.runAll()
    assert.equal(await computedAt(), vault().now)
    vault().now -= year
    await vault().service.jobTimer.runAll()
    assert.equal(await computedAt(), vault().now)
    vault().now -= pace.clockSkewMs
    await vault().service.jobTimer.runAll()
    assert.equal(await computedAt(), vault().now + pace.clockSkewMs, 'another node may be ahead a little')
    vault().now += pace.clockSkewMs
  })

  test('a large tenant is processed in slices, across restarts; the last report stands meanwhile (C26)', async () => {
    const { tenantId, keys } = await vault().tenant(applications)
    await fill(vault(), keys.owner)
    const tenantNumber = await vault().tenantNumber(tenantId)
    const report = async () => (await vault().get(path, keys.management)).body
    /** Covers three tokens of this tenant and no other tenant's. */
    const slice = (): Promise<number> => {
      const { vault: whole } = vault().service
      const loaded = () => whole.keyring.loaded().filter(tenant => tenant.tenantNumber === tenantNumber)
      return computeIndexReports(
        { ...whole, keyring: { ...whole.keyring, loaded } },
        { perTenant: 3, perRun: 3 },
      )
    }
    assert.equal(await slice(), 3)
    assert.deepEqual(await report(), empty)
    await vault().restart()
    await report()
    assert.deepEqual([await slice(), await slice()], [3, 3])
    assert.deepEqual(await report(), empty)
    // Created meanwhile, so newer than where the pass began: the next one counts it.
    vault().now += 1_000
    await vault().create(keys.owner, { type: 'token', data: 'new', metadata: { late: 'yes' } })
    assert.equal(await slice(), 1)
    const first = await report()
    assert.deepEqual(first.indexes.toSorted(byName), figures.toSorted(byName))
    assert.equal(await slice(), 0)

    vault().now += pace.reportIntervalMs
    assert.equal(await slice(), 3)
    assert.deepEqual(await report(), first)
    for (let i = 0; i < 3; i++) await slice()
    const second = await report()
    assert.equal(second.tokens, 11)
    assert.deepEqual(
      second.indexes.find(({ name }: { name: string }) => name === 'late'),
      index('metadata', 'late', 1, 1, 1),
    )
  })

  test('the report is stored sealed; neither tampering with it nor a token that does not open stops the next one (C26)', async () => {
    const { keys, tenantId } = await vault().tenant(applications)
    await fill(vault(), keys.owner)
    await vault().create(keys.owner, { id: 'spoilt', type: 'token', data: 'x', metadata: { canaryKey: 'y' } })
    await vault().service.jobTimer.runAll()
    const content = await vault().engine.content(vault().folder.path)
    assertAbsent(Object.fromEntries(content), ['canaryKey', '| slice: 0 }}'])
    const number = await vault().tenantNumber(tenantId)
    const spoilt = new Uint8Array(1)
    await tamper(vault(), 'UPDATE reports SET sealed = ? WHERE tenant = ?', spoilt, number)
    assert.equal((await vault().get(path, keys.management)).status, 500)
    await spoilTokens(vault(), ['spoilt'])
    await vault().service.jobTimer.runAll()
    const { status, body } = await vault().get(path, keys.management)
    assert.deepEqual([status, body.tokens], [200, 10])
    assert.deepEqual(body.indexes.toSorted(byName), figures.toSorted(byName))
  })

  test('a run that is told to stop examines nothing more, and another makes the report (C26)', async t => {
    const { keys } = await vault().tenant(applications)
    await fill(vault(), keys.owner)
    const { vault: whole } = vault().service
    const stopped = new AbortController()
    const list = whole.store.listTokens
    const { mock } = t.mock.method(whole.store, 'listTokens', (...asked: Parameters<typeof list>) => {
      stopped.abort()
      return list(...asked)
    })
    assert.equal(await computeIndexReports(whole, { stopping: stopped.signal }), 0)
    assert.equal(mock.callCount(), 1)
    mock.restore()
    assert.equal((await vault().get(path, keys.management)).body.tokens, 0)
    await vault().service.jobTimer.runAll()
    assert.equal((await vault().get(path, keys.management)).body.tokens, 10)
  })

  test('a report counts only the tokens of its own tenant (C31.9)', async () => {
    const [one, other] = [await vault().tenant(applications), await vault().tenant(applications)]
    await fill(vault(), one.keys.owner)
    await vault().get(path, other.keys.management)
    await vault().service.jobTimer.runAll()
    const { body } = await vault().get(path, other.keys.management)
    assert.deepEqual([body.tokens, body.indexes], [0, []])
  })

  test('a run that has examined enough leaves other tenants to later runs, each of which begins with another (C26)', async () => {
    await vault().restart()
    const tenants = [await vault().tenant(applications), await vault().tenant(applications)]
    for (const { keys } of tenants) await fill(vault(), keys.owner)
    const reported = async (): Promise<number[]> =>
      await Promise.all(
        tenants.map(async ({ keys }) => (await vault().get(path, keys.management)).body.tokens),
      )
    await computeIndexReports(vault().service.vault, { perRun: 1 })
    assert.deepEqual(
      (await reported()).toSorted((a, b) => a - b),
      [0, 10],
    )
    vault().now += pace.reportIntervalMs + pace.sweepIntervalMs
    await computeIndexReports(vault().service.vault, { perRun: 1 })
    assert.deepEqual(await reported(), [10, 10])
  })

  test('a report counts as a seal of the data key, so that the key is replaced in time (docs/keys.md)', async () => {
    const { keys, tenantId } = await vault().tenant(applications)
    await fill(vault(), keys.owner)
    const number = await vault().tenantNumber(tenantId)
    const seals = async (): Promise<number> =>
      (await vault().store.readCounters(number, [sealsCounter(1)]))[0]?.value ?? 0
    const before = await seals()
    assert.ok(before > 0)
    await computeIndexReports(vault().service.vault)
    assert.equal(await seals(), before + 1)
  })

  test('a tenant whose rows were tampered with does not keep the next one from its report (C26)', async t => {
    const [broken, sound] = [await vault().tenant(applications), await vault().tenant(applications)]
    for (const { keys } of [broken, sound]) await fill(vault(), keys.owner)
    const number = await vault().tenantNumber(broken.tenantId)
    const { store, keyring } = vault().service.vault
    // A minute that begins with the first tenant.
    const round = pace.sweepIntervalMs * keyring.loaded().length
    vault().now = Math.ceil(vault().now / round) * round
    const { listTokens } = store
    const listing = t.mock.method(store, 'listTokens', (...asked: Parameters<typeof listTokens>) =>
      asked[0].tenant === number
        ? Promise.reject(new TamperedError({ kind: 'token' }))
        : listTokens(...asked),
    )
    await assert.rejects(computeIndexReports(vault().service.vault), TamperedError)
    listing.mock.restore()
    assert.equal((await vault().get(path, sound.keys.management)).body.tokens, 10)
  })
})
