import assert from 'node:assert/strict'
import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { allOf, type Job, jobTimer } from '../../src/jobs/job-timer.ts'
import { upkeep } from '../../src/jobs/upkeep.ts'
import { addMasterKey } from '../../src/keys/file/add-master-key.ts'
import { createMasterKeyFile } from '../../src/keys/file/create-master-key-file.ts'
import { retireMasterKeys } from '../../src/keys/file/retire-master-keys.ts'
import { KeyProviderError } from '../../src/keys/key-provider.ts'
import { engines } from '../rig/engines.ts'
import { countRows, spoilTokens, storedRows } from '../rig/stored-rows.ts'
import { owner, TestVault } from '../rig/test-vault.ts'

const day = 86_400_000
const card = { type: 'card', data: { number: '4242424242424242', cvc: '123' } }

describe('the job timer', () => {
  const silent = { isDebug: true, error: () => {}, info: () => {}, debug: () => {} }

  test('a job that fails is logged without its message and keeps no other job from running (C17.6)', async () => {
    const ran: string[] = []
    const logged: string[] = []
    const job = (name: string, fails = false): Job => ({
      name,
      run: async () => {
        ran.push(name)
        if (fails) throw new Error('4242424242424242')
        return {}
      },
    })
    const log = { ...silent, error: (fields: object) => logged.push(JSON.stringify(fields)) }
    const work = jobTimer([job('first', true), job('second'), job('third', true), job('fourth')], {
      intervalMs: 60_000,
      log,
    })
    await work.runAll()
    await work.runAll()
    assert.deepEqual(ran, ['first', 'second', 'third', 'fourth', 'first', 'second', 'third', 'fourth'])
    assert.equal(logged.length, 4)
    assert.ok(logged[0]?.includes('"job":"first"'))
    assert.ok(!logged.join().includes('4242'))
  })

  test('a slow run is not overtaken, and stopping waits for it (C17.6)', async () => {
    let running = 0
    let runs = 0
    let release = (): void => {}
    const work = jobTimer(
      [
        {
          name: 'slow',
          run: async () => {
            running++
            runs++
            assert.equal(running, 1)
            await new Promise<void>(resolve => {
              release = resolve
            })
            running--
            return {}
          },
        },
      ],
      { intervalMs: 1, log: silent },
    )
    work.start()
    const again = work.runAll()
    let isStopped = false
    const stopped = work.stop().then(() => {
      isStopped = true
    })
    await new Promise(setImmediate)
    assert.ok(!isStopped)
    release()
    await Promise.all([again, stopped])
    assert.deepEqual([running, runs], [0, 1])
  })

  test('once stopped, nothing runs again (C17.6)', async t => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const intervalMs = 1_000
    let runs = 0
    const work = jobTimer([{ name: 'short', run: async () => ({ runs: ++runs }) }], {
      intervalMs,
      log: silent,
    })
    const pass = async (): Promise<void> => {
      t.mock.timers.tick(intervalMs)
      await new Promise(setImmediate)
    }
    work.start()
    await work.runAll()
    await pass()
    assert.equal(runs, 2)
    await work.stop()
    await pass()
    assert.equal(runs, 2)
  })

  test('a run told to stop ends early and starts no other job (C17.6)', async () => {
    const ran: string[] = []
    const work = jobTimer(
      [
        {
          name: 'long',
          run: stopping =>
            new Promise(resolve => {
              ran.push('long')
              stopping.addEventListener('abort', () => resolve({}))
            }),
        },
        { name: 'next', run: async () => ({ next: ran.push('next') }) },
      ],
      { intervalMs: 60_000, log: silent },
    )
    work.start()
    await work.stop()
    assert.deepEqual(ran, ['long'])
  })
})

for (const engine of engines)
  describe(`upkeep (${engine.name})`, () => {
    const withVault = async (work: (vault: TestVault, key: string) => Promise<void>): Promise<void> => {
      const vault = await TestVault.start({ engine })
      try {
        await work(vault, (await vault.tenant({ owner })).keys.owner)
      } finally {
        await vault.stop()
      }
    }
    const failedJobs = (vault: TestVault): string[] =>
      vault.log
        .filter(line => line.includes('job failed'))
        .map(line => JSON.parse(line).job)
        .sort()

    test('every job whose storage fails is logged, and a vault in good order logs no complaint (C17.6)', () =>
      withVault(async vault => {
        await vault.service.jobTimer.runAll()
        assert.deepEqual(
          vault.log.filter(line => line.includes('"level":"error"')),
          [],
        )
        const { store } = vault
        const calls = ['purgeTransients', 'purgeResults', 'purgeDeadTenants', 'listExpiredTokens'] as const
        const real = Object.fromEntries(calls.map(name => [name, store[name]]))
        for (const name of calls) Object.assign(store, { [name]: () => Promise.reject(new Error('gone')) })
        await vault.service.jobTimer.runAll()
        Object.assign(store, real)
        assert.deepEqual(failedJobs(vault), [
          'purge-dead-tenants',
          'sweep-expired',
          'sweep-results',
          'sweep-transients',
        ])
      }))

    test('expired tokens that cannot be purged because a key is unavailable are logged (C17.6)', () =>
      withVault(async (vault, key) => {
        const expires_at = new Date(vault.now + 1_000).toISOString()
        await vault.create(key, { type: 'token', data: 'x', expires_at })
        vault.now += 2_000
        const { store } = vault
        const { commit } = store
        store.commit = () => Promise.reject(new KeyProviderError('away'))
        await vault.service.jobTimer.runAll()
        store.commit = commit
        assert.ok(failedJobs(vault).includes('sweep-expired'), failedJobs(vault).join())
      }))

    const spoilt: readonly [name: string, spoil: (path: string) => void, reason: string][] = [
      ['is lost', rmSync, 'the master key file cannot be read (ENOENT)'],
      ['is open to others', path => chmodSync(path, 0o644), 'the master key file is open to others'],
      ['is none', path => writeFileSync(path, 'x'), 'the master key file does not hold a master key'],
      [
        'is that of another vault',
        path => {
          rmSync(path)
          createMasterKeyFile(path)
        },
        'the master key is another one than at the start',
      ],
      [
        'was retired before anything was wrapped anew',
        path => {
          addMasterKey(path)
          retireMasterKeys(path)
        },
        'a wrapped key does not open with the master key',
      ],
    ]
    for (const [name, spoil, reason] of spoilt)
      test(`a master key that ${name} is logged before the restart that would need it (docs/running.md)`, () =>
        withVault(async vault => {
          spoil(join(vault.folder.path, 'master.key'))
          await vault.service.jobTimer.runAll()
          assert.deepEqual(failedJobs(vault), ['check-master-key'])
          const line = vault.log.find(text => text.includes('check-master-key'))
          assert.equal(JSON.parse(line ?? '').reason, reason)
        }))

    const soon = (vault: TestVault): string => new Date(vault.now + 3_600_000).toISOString()

    test('a vault that was down for a day catches up as soon as it starts (C17.6, C11.2, §4.11.7)', () =>
      withVault(async (vault, key) => {
        const kept = await vault.create(key, card)
        await vault.create(key, { ...card, expires_at: soon(vault) })
        await vault.send('POST', '/tokens', {
          key,
          body: { type: 'token', data: 'x' },
          headers: { 'svc-idempotency-key': 'yesterday' },
        })
        const counts = () =>
          Promise.all(
            ['tokens', 'transients', 'results'].map(async table => (await storedRows(vault, table)).length),
          )
        assert.deepEqual(await counts(), [3, 2, 1])
        vault.now += day
        await vault.restart()
        assert.deepEqual(await counts(), [3, 2, 1], 'nothing happened in between')
        vault.service.startJobs()
        await vault.service.jobTimer.runAll()
        assert.deepEqual(await counts(), [2, 0, 0])
        assert.deepEqual((await vault.get(`/tokens/${kept.id}`, key)).body.data, { number: card.data.number })
        assert.equal((await vault.get('/tokens', key)).body.pagination.total_items, 2)
      }))

    test('thousands of due tokens are purged in batches, and requests are answered in between (C17.6, C11.2)', () =>
      withVault(async (vault, key) => {
        const expires_at = soon(vault)
        const kept = await vault.create(key, { type: 'token', data: 'kept' })
        for (let batch = 0; batch < 2; batch++) {
          const definitions = Array.from({ length: 1_000 }, () => ({ ...card, expires_at }))
          assert.equal((await vault.post('/tokenize', key, definitions)).status, 200)
        }
        vault.now += 3_600_000
        let isSwept = false
        const sweeping = vault.service.jobTimer.runAll().then(() => {
          isSwept = true
        })
        let answered = 0
        const left: number[] = []
        while (!isSwept) {
          assert.equal((await vault.get(`/tokens/${kept.id}`, key)).status, 200)
          assert.equal(
            (await vault.get('/tokens', key)).body.pagination.total_items,
            1,
            'exact at every moment',
          )
          answered++
          left.push(await countRows(vault, 'tokens'))
        }
        await sweeping
        assert.ok(answered >= 5, `only ${answered} rounds of requests were answered during the sweep`)
        assert.ok(new Set(left).size >= 3, 'the sweep advances in steps')
        assert.equal((await storedRows(vault, 'tokens')).length, 1)
        assert.equal((await storedRows(vault, 'transients')).length, 0)
        assert.equal((await storedRows(vault, 'terms')).filter(row => row.token_id !== kept.id).length, 0)
      }))

    test('rows that do not open, however many, do not keep the others from being purged (C17.6)', () =>
      withVault(async (vault, key) => {
        const expires_at = soon(vault)
        const broken = Array.from({ length: 450 }, () => ({ type: 'token', data: 'broken', expires_at }))
        const { body } = await vault.post('/tokenize', key, broken)
        const ids: string[] = body.map((token: { id: string }) => token.id)
        vault.now += 1
        const fine = await vault.create(key, { type: 'token', data: 'fine', expires_at: soon(vault) })
        await spoilTokens(vault, ids)
        vault.now += 3_600_000
        await vault.service.jobTimer.runAll()
        const rows = (await storedRows(vault, 'tokens')).map(row => row.token_id)
        assert.ok(!rows.includes(fine.id), 'the last one is purged')
        assert.equal(rows.length, ids.length, 'the others are left for the operator')
        const [told, ...more] = vault.log
          .filter(line => line.includes('do not open'))
          .map(line => JSON.parse(line))
        assert.equal(more.length, 0, 'one line, however many')
        assert.equal(told.count, ids.length)
        assert.ok(
          told.rows.length === 10 && told.rows.every((row: string) => ids.some(id => row.includes(id))),
        )
      }))

    test('a single expired token that does not open is named in the log (C17.6)', () =>
      withVault(async (vault, key) => {
        const { id } = await vault.create(key, { type: 'token', data: 'x', expires_at: soon(vault) })
        await spoilTokens(vault, [id])
        vault.now += 3_600_000
        await vault.service.jobTimer.runAll()
        const told = vault.log.filter(line => line.includes('do not open')).map(line => JSON.parse(line))
        assert.deepEqual(
          told.map(({ count, rows }) => [count, rows.length, rows.join().includes(id)]),
          [[1, 1, true]],
        )
      }))

    test('a sweep that cannot read expired tokens still purges transient fields (C11.2)', () =>
      withVault(async (vault, key) => {
        await vault.create(key, card)
        vault.now += 3_600_000
        const { vault: inside } = vault.service
        const store = { ...inside.store, listExpiredTokens: () => Promise.reject(new Error('gone')) }
        const log = { isDebug: true, error: () => {}, info: () => {}, debug: () => {} }
        const always = { hold: async () => true, release: async () => {} }
        const works = Object.values(
          upkeep({ ...inside, store }, log, () => always, { auditRetentionDays: 400 }),
        )
        await allOf(works.map(jobs => jobTimer(jobs, { intervalMs: 60_000, log }))).runAll()
        assert.deepEqual(await storedRows(vault, 'transients'), [])
      }))

    for (const long of ['purgeDeadTenants', 'purgeResults', 'listExpiredTokens'] as const)
      test(`a cvc that is due does not wait for a long ${long} (C11.2)`, { timeout: 30_000 }, () =>
        withVault(async (vault, key) => {
          await vault.create(key, card)
          vault.now += 3_600_000
          const { store } = vault.service.vault
          const held = Promise.withResolvers<never>()
          const swept = Promise.withResolvers<void>()
          const { shred } = store
          store[long] = () => held.promise
          store.shred = () => shred().finally(swept.resolve)
          const sweeping = vault.service.jobTimer.runAll()
          await swept.promise
          assert.deepEqual(await storedRows(vault, 'transients'), [])
          held.reject(new Error('enough'))
          await sweeping
        }),
      )

    test('reads are counted within a second, until the vault stops (C32.3)', t =>
      withVault(async (vault, key) => {
        t.mock.timers.enable({ apis: ['setInterval'] })
        const flush = t.mock.method(vault.service.vault.activity, 'flush')
        const { id } = await vault.create(key, { type: 'token', data: 'x' })
        vault.service.startJobs()
        vault.now += 31 * day
        assert.equal((await vault.get(`/tokens/${id}`, key)).status, 200)
        t.mock.timers.tick(1_000)
        assert.equal(await flush.mock.calls.at(-1)?.result, 1)
        await vault.restart()
        const before = flush.mock.callCount()
        t.mock.timers.tick(1_000)
        assert.equal(flush.mock.callCount(), before)
      }))

    test('a checkpoint of the log is made once a second at most (L4.2)', t =>
      withVault(async (vault, key) => {
        t.mock.timers.enable({ apis: ['setInterval'] })
        const { evidence } = vault.service.vault
        const looks = t.mock.method(evidence, 'isBehind')
        const made = t.mock.method(evidence, 'checkpoint')
        const settled = () =>
          Promise.allSettled([...looks.mock.calls, ...made.mock.calls].map(call => call.result))
        const create = () => vault.create(key, { type: 'token', data: 'x' })
        await create()
        vault.service.startJobs()
        while (made.mock.callCount() === 0) {
          t.mock.timers.tick(1_000)
          await create()
        }
        await settled()
        const before = looks.mock.callCount()
        t.mock.timers.tick(999)
        await create()
        assert.equal(looks.mock.callCount(), before)
        t.mock.timers.tick(1)
        assert.equal(looks.mock.callCount(), before + 1)
        await settled()
      }))

    test('a vault that stops closes storage after the jobs that are under way (docs/running.md)', () =>
      withVault(async vault => {
        const { store, service } = vault
        const { close, purgeResults } = store
        const { stop } = service.jobTimer
        const job = Promise.withResolvers<void>()
        const told = Promise.withResolvers<void>()
        const ended: string[] = []
        store.purgeResults = async (...given) => {
          await job.promise
          ended.push('job')
          return purgeResults.apply(store, given)
        }
        store.close = async () => {
          ended.push('storage')
          await close.call(store)
        }
        service.jobTimer.stop = () => {
          told.resolve()
          return stop()
        }
        service.startJobs()
        const closed = vault.close()
        await Promise.race([told.promise, closed])
        for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
        job.resolve()
        await closed
        await vault.openOn(engine)
        assert.deepEqual(ended, ['job', 'storage'])
      }))

    test(
      'a vault that stops does not wait for the end of a purge (C17.6, C11.2, §4.11.7, C31.6)',
      { timeout: 30_000 },
      () =>
        withVault(async vault => {
          const { store } = vault.service.vault
          const purges = ['purgeDeadTenants', 'purgeResults', 'purgeTransients'] as const
          const begun: string[] = []
          for (const purge of purges)
            store[purge] = async () => {
              begun.push(purge)
              return 1
            }
          vault.service.startJobs()
          await vault.service.jobTimer.stop()
          assert.deepEqual(new Set(begun), new Set(purges))
        }),
    )
  })
