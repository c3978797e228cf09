import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { lightMs, ReadCosts } from '../../src/store/postgres/read-costs.ts'
import { ReadPool } from '../../src/store/postgres/read-pool.ts'
import { startCluster } from '../rig/postgres-cluster.ts'
import { settingsOf } from '../rig/postgres-databases.ts'

const [slow, quick] = [1, 2]
/** Reads with this statement wait for as long as the test holds the lock. */
const heldUp = { text: 'SELECT pg_advisory_xact_lock_shared(7), $1::int AS n' }
const immediate = { text: 'SELECT $1::int AS n', name: 'immediate' }

describe('reads of several tenants (postgres)', () => {
  let cluster: Awaited<ReturnType<typeof startCluster>>
  let holder: pg.Client
  let pool: ReadPool
  before(async () => {
    cluster = await startCluster()
    holder = new pg.Client(cluster.url)
    await holder.connect()
    pool = new ReadPool(settingsOf(cluster.url), 5, [])
  })
  after(async () => {
    await pool.close()
    await holder.end()
    await cluster.stop()
  })

  const read = async (tenant: number, statement: { text: string; name?: string }, n: number) => {
    const { rows } = await pool.query<{ n: number }>(tenant, { ...statement, values: [n] })
    return rows[0]?.n
  }
  const underWay = async (): Promise<number> => {
    const { rows } = await holder.query(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
    )
    return rows[0].n
  }

  test('nobody waits for the slow reads of somebody else, however many there are (C37.2)', async () => {
    await holder.query('SELECT pg_advisory_lock(7)')
    const waiting = Promise.all(Array.from({ length: 100 }, (_, n) => read(slow, heldUp, n)))
    // All of these are answered while none of the others can be.
    for (let n = 0; n < 20; n++) assert.equal(await read(quick, immediate, n), n)
    const together = Array.from({ length: 200 }, (_, n) => n)
    assert.deepEqual(await Promise.all(together.map(n => read(quick, immediate, n))), together)
    // Nor is there room that the slow tenant has taken from a third one's slow reads.
    const others = read(3, heldUp, -1)
    while ((await underWay()) < 3);
    assert.equal(await underWay(), 3)
    await holder.query('SELECT pg_advisory_unlock(7)')
    assert.deepEqual(
      await waiting,
      Array.from({ length: 100 }, (_, n) => n),
    )
    assert.equal(await others, -1)
  })

  test('a read whose answer this process was too busy to see stays light (C37.2)', async () => {
    const seenLate = { ...immediate, name: 'seen late' }
    for (let n = 0; n < 6; n++) {
      const answer = read(quick, seenLate, n)
      const until = performance.now() + 2 * lightMs
      while (performance.now() < until);
      await answer
    }
    await holder.query('SELECT pg_advisory_lock(7)')
    const waiting = [3, 4, 5].map(tenant => read(tenant, heldUp, tenant))
    while ((await underWay()) < 3);
    // Whatever is not light waits for one of these.
    assert.equal(await read(quick, seenLate, 7), 7)
    await holder.query('SELECT pg_advisory_unlock(7)')
    await Promise.all(waiting)
  })
})

describe('what a read is expected to take', () => {
  const statement = 'a statement'
  const learned = (...measured: [tenant: number, ms: number][]): ReadCosts => {
    const costs = new ReadCosts()
    for (const [tenant, ms] of measured) costs.learn(tenant, statement, ms)
    return costs
  }
  const isLight = (costs: ReadCosts, tenant: number, name: string | undefined): boolean =>
    costs.expected(tenant, name) <= lightMs
  const often = (tenant: number, ms: number) =>
    Array.from({ length: 12 }, (): [number, number] => [tenant, ms])

  for (const { title, costs, light, name = statement } of [
    { title: 'a statement that nobody has sent is not light', costs: learned(), light: false },
    { title: 'a statement without a name is never light', costs: learned([1, 1]), light: false, name: null },
    { title: 'a statement that was light for others is light', costs: learned([2, 1]), light: true },
    {
      title: 'one that is slow for its tenant is not',
      costs: learned([2, 1], ...often(1, 50)),
      light: false,
    },
    {
      title: 'what is slow for one tenant stays light for others',
      costs: learned([1, 1], ...often(2, 50)),
      light: true,
    },
    { title: 'what was slow may become light', costs: learned(...often(1, 50), ...often(1, 1)), light: true },
    { title: 'one late answer makes nothing slow', costs: learned(...often(1, 1), [1, 500]), light: true },
  ])
    test(`${title} (C37.2)`, () => assert.equal(isLight(costs, 1, name ?? undefined), light))
})
