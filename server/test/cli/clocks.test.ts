import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { warnOfClocks } from '../../src/cli/clocks.ts'
import { examine } from '../../src/cli/doctor/examine.ts'
import type { Finding } from '../../src/cli/doctor/finding.ts'
import { thisMachine } from '../../src/cli/doctor/machine.ts'
import { Report } from '../../src/cli/doctor/report.ts'
import { type Config, readConfig } from '../../src/config/config.ts'
import type { Vault } from '../../src/operations/vault/vault.ts'
import { granted } from '../rig/answers.ts'
import { engines, postgres, sqlite } from '../rig/engines.ts'
import { inShortRun } from '../rig/long-run.ts'
import { databaseOf } from '../rig/postgres-databases.ts'
import { Site } from '../rig/program.ts'
import { owner, TestVault } from '../rig/test-vault.ts'

const slackMs = 60_000
const hourMs = 3_600_000

const fromFuture =
  'storage holds tokens from the future: this clock is behind, or one was ahead; strongroom doctor says more'
const clocksDiffer =
  'the clock of this machine and that of the database differ by more than a minute: set the one that is wrong'

const manager = { type: 'management', permissions: ['tenant:read', 'application:read'] } as const

/** What a server whose clock shows `now` reports when it starts. */
const warnings = async (vault: Vault, now: number): Promise<unknown[]> => {
  const told: unknown[] = []
  const warn = (fields: Record<string, unknown>, message: string): void =>
    void told.push({ ...fields, message })
  const silent = (): void => {}
  await warnOfClocks(
    { ...vault, clock: () => now },
    { isDebug: false, warn, error: silent, info: silent, debug: silent },
  )
  return told
}

/** What doctor finds on a machine whose clock shows `now`. */
const findings = async (config: Config, now: number): Promise<Finding[]> => {
  const report = new Report()
  await examine({ config, machine: { ...thisMachine, now: () => now } }, report)
  return report.findings
}

for (const engine of engines)
  describe(`a clock that was ahead (${engine.name})`, () => {
    let vault: TestVault
    let site: Site
    let tenantId: string
    let key: string
    let settings: { options: Record<string, string>; environment: Record<string, string> }
    let now: number
    let ahead: number
    beforeEach(async () => {
      now = Date.now()
      ahead = now + 24 * hourMs
      site = new Site()
      vault = await TestVault.start({ engine, now: ahead })
      const made = await vault.tenant({ owner, manager })
      tenantId = made.tenantId
      key = made.keys.owner
      await vault.create(key, { id: 'early', type: 'token', data: 'x' })
      await vault.create(key, { id: 'early too', type: 'card', data: { number: '4242424242424242' } })
      await vault.create(key, { id: 'early, expired', type: 'token', data: 'x' })
      vault.now = now - 1
      granted(await vault.patch('/tokens/early,%20expired', key, { expires_at: new Date(now).toISOString() }))
      for (const [id, at] of [
        ['in time', now],
        ['as early as clocks may differ', now + slackMs],
      ] as const) {
        vault.now = at
        await vault.create(key, { id, type: 'token', data: 'x' })
      }
      vault.now = now
      const { path } = vault.folder
      settings = {
        options: {
          ...(engine === sqlite && { data: path }),
          'key-provider': 'file',
          'master-key-file': join(path, 'master.key'),
        },
        environment:
          engine === sqlite ? {} : { STRONGROOM_DATABASE_URL: await databaseOf(vault.folder.path) },
      }
    })
    afterEach(async () => {
      await site.remove()
      await vault.stop()
    })
    const flags = (): string[] =>
      Object.entries(settings.options).flatMap(([name, value]) => [`--${name}`, value])
    const ask = (): Promise<Finding[]> => findings(readConfig(settings), now)

    test('is reported by doctor with the number of tokens it dated, until they are deleted (C35)', async () => {
      const [finding, ...others] = await ask()
      assert.deepEqual(others, [])
      assert.equal(finding?.check, 'clock')
      assert.match(
        finding.problem,
        new RegExp(`^storage holds tokens from the future \\(2 of tenant ${tenantId}\\): `),
      )
      assert.ok('byHand' in finding)
      assert.equal(finding.byHand.includes('on every node'), engine !== sqlite)
      const end = new Date(ahead - slackMs).toISOString()
      assert.match(finding.byHand, new RegExp(`replace these tokens .* with new ones, or wait until ${end}$`))
      for (const id of ['early', 'early%20too'])
        assert.equal((await vault.delete(`/tokens/${id}`, key)).status, 204)
      assert.ok((await vault.store.newestTokenAt()) === ahead, 'counters keep the moment')
      assert.deepEqual(await ask(), [])
      assert.deepEqual(await warnings(vault.service.vault, now), [])
    })

    // The line is the same on both engines, and is left to one worker on both.
    const workers = engine === sqlite ? '2' : '1'
    test(`is logged once when serve starts, and serve runs all the same (--workers ${workers}) (C35)`, {
      skip: engine !== sqlite && inShortRun,
    }, async () => {
      await vault.close()
      const env = { ...settings.environment, STRONGROOM_WORKERS: workers }
      const server = site.start(['serve', '--port', '0', ...flags()], env)
      const { level } = JSON.parse(await server.logged(fromFuture))
      assert.equal(level, 40)
      const { url } = JSON.parse(await server.logged('listening'))
      assert.equal((await fetch(`${url}/ready`)).status, 200)
      server.child.kill('SIGTERM')
      const { code, stderr } = await server.exited
      assert.equal(code, 0)
      assert.equal(stderr.split(fromFuture).length - 1, 1)
      await vault.openOn(engine)
    })
  })

describe('the clock of the database (postgres only: the embedded store has none)', () => {
  let vault: TestVault
  const there = Date.parse('2027-01-15T08:00:00Z')
  before(async () => {
    vault = await TestVault.start({ engine: postgres, now: there })
    const asked = Date.now()
    const time = await vault.store.time()
    assert.ok(time !== undefined && asked <= time && time <= Date.now(), 'it is the time')
    const { keys } = await vault.tenant({ owner, manager })
    await vault.create(keys.owner, { type: 'token', data: 'x' })
    // A stopped clock that is found before the server's own.
    const url = new URL(await databaseOf(vault.folder.path))
    const { path } = vault.folder
    await postgres.reach(
      path,
      `CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT to_timestamp(${there / 1_000})'`,
    )
    await postgres.reach(path, `ALTER DATABASE ${url.pathname.slice(1)} SET search_path = public, pg_catalog`)
    await vault.restart()
  })
  after(() => vault.stop())

  const cases: { name: string; offMs: number; says?: RegExp }[] = [
    { name: 'that agrees with the database', offMs: 0 },
    { name: 'a minute ahead of the database', offMs: slackMs },
    { name: 'a minute behind the database', offMs: -slackMs },
    {
      name: 'more than a minute ahead of the database',
      offMs: slackMs + 1,
      says: /^the clock of this machine is 60 seconds ahead of that of the database$/,
    },
    {
      name: 'two hours behind the database',
      offMs: -2 * hourMs,
      says: /^the clock of this machine is 7200 seconds behind that of the database$/,
    },
  ]
  for (const { name, offMs, says } of cases)
    test(`a machine clock ${name} is ${says === undefined ? 'accepted' : 'reported by doctor and in the log of serve'} (C35)`, async () => {
      const now = there + offMs
      const config = readConfig({
        options: { 'key-provider': 'file', 'master-key-file': join(vault.folder.path, 'master.key') },
        environment: { STRONGROOM_DATABASE_URL: await databaseOf(vault.folder.path) },
      })
      const found = await findings(config, now)
      assert.deepEqual(
        await warnings(vault.service.vault, now),
        says === undefined ? [] : [{ skew_ms: offMs, message: clocksDiffer }],
      )
      assert.equal(found.length, says === undefined ? 0 : 1)
      if (says === undefined) return
      assert.equal(found[0]?.check, 'clock')
      assert.match(found[0].problem, says)
      assert.ok('byHand' in found[0])
      assert.match(found[0].byHand, /^compare "date -u" on both with a clock that you trust/)
    })

  test('a slow answer from the database is not taken for a wrong clock (C35)', async () => {
    const { store } = vault.service.vault
    let now = there - slackMs
    const slow = {
      ...store,
      time: async () => {
        now = there + 2 * slackMs
        return store.time()
      },
    }
    const told: unknown[] = []
    const note = (_: unknown, message: string): void => void told.push(message)
    await warnOfClocks(
      { ...vault.service.vault, store: slow, clock: () => now },
      { isDebug: false, warn: note, error: note, info: note, debug: note },
    )
    assert.deepEqual(told, [])
  })

  test('serve logs that the clocks differ, and runs all the same (C35)', {
    skip: inShortRun,
  }, async () => {
    const site = new Site()
    try {
      const server = site.start(
        [
          'serve',
          '--port',
          '0',
          '--key-provider',
          'file',
          '--master-key-file',
          join(vault.folder.path, 'master.key'),
        ],
        { STRONGROOM_DATABASE_URL: await databaseOf(vault.folder.path) },
      )
      const { level, skew_ms: skewMs } = JSON.parse(await server.logged(clocksDiffer))
      assert.equal(level, 40)
      assert.ok(Math.abs(skewMs) > slackMs)
      const { url } = JSON.parse(await server.logged('listening'))
      assert.equal((await fetch(`${url}/ready`)).status, 200)
    } finally {
      await site.remove()
    }
  })
})
