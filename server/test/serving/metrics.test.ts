import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { endpoints } from '../../src/contract/endpoints.ts'
import { allFamilies } from '../../src/telemetry/families.ts'
import { certificate } from '../rig/certificates.ts'
import { inShortRun, isLong } from '../rig/long-run.ts'
import { assertRefused, call, Site } from '../rig/program.ts'
import { promtoolSays, Scrape } from '../rig/scrape.ts'
import { askForRandomPaths, serveWatched, type Watched } from './watched.ts'
import { newest } from './worker-connections.ts'

describe('metrics of a server', { timeout: 120_000 }, () => {
  const site = new Site()
  const token = site.file('token', 'first\n')
  const tls = { ca: certificate('ca'), file: (name: string, text: string) => site.file(name, text) }
  let server: Watched
  let keys: Record<string, string>
  before(async () => {
    server = await serveWatched(site)
    keys = await site.json('tenant', 'create', '--name', 'Acme')
  })
  after(() => site.remove())

  test('every family that is declared is there, with its help and type, and parsers that are not ours read it (docs/watching.md)', async () => {
    const scrape = await Scrape.of(server.metrics)
    // One has no value: this server has no certificate, and no key of it expires.
    assert.deepEqual(
      allFamilies.map(({ name, type }) => [name, type.toUpperCase()]).sort(),
      scrape.families.map(({ name, type }) => [name, type]).sort(),
    )
    assert.match(promtoolSays(['check', 'metrics'], scrape.text) ?? '', /^$/)
    assert.match(scrape.text, /^strongroom_build_info\{version="[^"]+",node="26[^"]+",storage="sqlite"\} 1$/m)
  })

  test('rate, errors and time are counted by endpoint and class of status, and what they lead to in storage (docs/watching.md)', async () => {
    const first = await Scrape.of(server.metrics)
    const { api_key: key = '', private_api_key: reader = '' } = keys
    const { body } = await call(server.url, 'POST', '/tokens', key, { type: 'token', data: 'secret' })
    await call(server.url, 'POST', '/tokens', key, { type: 'nothing', data: 'secret' })
    await call(server.url, 'GET', `/tokens/${body.id}`, reader)
    await call(server.url, 'GET', `/tokens/${body.id}`, 'wrong')
    const second = await Scrape.of(server.metrics)
    const grew = (name: string, labels = {}): number => second.sum(name, labels) - first.sum(name, labels)
    const requests = 'strongroom_http_requests_total'
    const create = { method: 'POST', route: '/tokens' }
    const get = { method: 'GET', route: '/tokens/:id' }
    assert.equal(grew(requests), 4)
    for (const endpoint of [create, get]) {
      assert.equal(grew(requests, { ...endpoint, status: '2xx' }), 1)
      assert.equal(grew(requests, { ...endpoint, status: '4xx' }), 1)
      assert.equal(grew('strongroom_http_request_duration_seconds_count', endpoint), 2)
      assert.ok(grew('strongroom_http_request_seconds_total', { ...endpoint, status: '2xx' }) > 0)
    }
    assert.ok(grew('strongroom_scheduler_wait_seconds_count') >= 4)
    // The create, and the record of what was revealed.
    assert.ok(grew('strongroom_commit_batch_sets_count') >= 2)
    for (const name of ['commit_duration_seconds', 'commit_wait_seconds', 'sqlite_sync_seconds'])
      assert.ok(grew(`strongroom_${name}_count`) >= 2, name)
    assert.ok(grew('strongroom_http_connections_accepted_total') >= 1)
  })

  test('requests are counted at every endpoint (docs/watching.md)', async () => {
    const first = await Scrape.of(server.metrics)
    for (const { method, path } of Object.values(endpoints))
      await fetch(server.url + path.replaceAll(/:\w+/g, 'x'), { method, headers: { 'svc-api-key': 'wrong' } })
    const second = await Scrape.of(server.metrics)
    for (const { method, path: route } of Object.values(endpoints)) {
      const counted = (scrape: Scrape): number =>
        scrape.sum('strongroom_http_requests_total', { route, ...(route !== '/proxy' && { method }) })
      assert.ok(counted(second) > counted(first), `${method} ${route}`)
    }
  })

  test('jobs, the log and its checkpoint are seen to go on (docs/watching.md)', async () => {
    let scrape = await Scrape.of(server.metrics)
    const ran = (job: string): number => scrape.sum('strongroom_job_runs_total', { job })
    while (ran('take-stock') === 0 || ran('flush-activity') < 2 || ran('prove-log') < 2)
      scrape = await Scrape.of(server.metrics)
    assert.equal(scrape.sum('strongroom_job_failures_total'), 0)
    const now = Date.now() / 1_000
    for (const name of ['job_last_success_timestamp_seconds', 'start_timestamp_seconds'])
      assert.ok(
        Math.abs(now - scrape.sum(`strongroom_${name}`, name.startsWith('job') ? { job: 'prove-log' } : {})) <
          60,
      )
    assert.ok(now - scrape.sum('strongroom_log_checkpoint_timestamp_seconds') < 60)
    assert.equal(scrape.sum('strongroom_log_anchor_failing'), 0)
  })

  test('only GET /metrics is answered (docs/watching.md)', async () => {
    const { origin } = new URL(server.metrics)
    assert.equal((await fetch(`${server.metrics}?x=1`)).status, 200)
    assert.equal((await fetch(server.metrics, { method: 'HEAD' })).status, 200)
    assert.equal((await fetch(origin)).status, 404)
    assert.equal((await fetch(`${origin}/tokens`)).status, 404)
    assert.equal((await fetch(server.metrics, { method: 'POST', body: 'x' })).status, 405)
    assert.equal((await fetch(`${server.url}/metrics`)).status, 401)
  })

  test('a port that is taken and a token file that others may read are refused at the start (C35.4)', async () => {
    const { port } = new URL(server.metrics)
    for (const workers of isLong ? ['1', '2'] : ['1'])
      assertRefused(
        await site.run(['serve', '--port', '0', '--metrics-port', port, '--workers', workers, ...site.vault]),
        1,
        new RegExp(
          `metrics cannot be served on port ${port} of 127.0.0.1 \\(EADDRINUSE\\): set --metrics-port`,
        ),
      )
    const open = site.file('open', 'x', 0o644)
    for (const [file, says] of [
      [open, /open to others: run chmod 600/] as const,
      ...(isLong
        ? ([
            [site.file('empty', ' \n'), /is empty/],
            ['nowhere', /nowhere/],
          ] as const)
        : []),
    ])
      assertRefused(
        await site.run([
          'serve',
          '--port',
          '0',
          '--metrics-port',
          '0',
          '--metrics-token-file',
          file,
          ...site.vault,
        ]),
        2,
        says,
      )
  })

  test('with a token file, only who shows the token is answered, and a new one needs no restart; nothing that dashboard and alerts ask for is missing (docs/watching.md)', async () => {
    const [application] = await site.json('app', 'list', '--tenant', keys.tenant_id ?? '')
    const about = ['--tenant', keys.tenant_id ?? '', '--app', application.id]
    await site.json(
      'key',
      'create',
      ...about,
      '--expires-at',
      new Date(Date.now() + 86_400_000).toISOString(),
    )
    const cert = tls.file('cert', tls.ca.cert)
    const key = tls.file('key', tls.ca.key)
    const watched = await serveWatched(site, [
      '--metrics-token-file',
      token,
      '--tls-cert',
      cert,
      '--tls-key',
      key,
    ])
    const status = async (authorization?: string): Promise<number> =>
      (await fetch(watched.metrics, authorization === undefined ? {} : { headers: { authorization } })).status
    assert.deepEqual(
      [
        await status(),
        await status('Bearer wrong'),
        await status('Basic first'),
        await status('Bearer first'),
      ],
      [401, 401, 401, 200],
    )
    writeFileSync(token, 'second')
    assert.deepEqual([await status('Bearer first'), await status('Bearer second')], [401, 200])
    const scraped = (): Promise<Scrape> => Scrape.of(watched.metrics, { authorization: 'Bearer second' })
    let scrape = await scraped()
    while (scrape.sum('strongroom_job_runs_total', { job: 'prove-log' }) === 0) scrape = await scraped()
    const now = Date.now() / 1_000
    assert.ok(scrape.sum('strongroom_tls_certificate_expiry_timestamp_seconds') > now)
    assert.ok(Math.abs(scrape.sum('strongroom_api_key_next_expiry_timestamp_seconds') - now - 86_400) < 60)
    assert.equal(scrape.sum('strongroom_api_keys_expiring'), 1)
    assertNamesAreThere(scrape)
    watched.child.kill('SIGTERM')
    assert.equal((await watched.exited).code, 0)
  })
})

/** With a certificate and a key that expires, nothing that is declared is left out. */
const assertNamesAreThere = ({ names }: Scrape): void => {
  for (const file of ['dashboard.json', 'alerts.yml']) {
    const text = readFileSync(join(import.meta.dirname, '../../../deploy/watching', file), 'utf8')
    const named = new Set(text.match(/strongroom_\w+/g))
    assert.ok(named.size > 15)
    for (const name of named) assert.ok(names.has(name), `${file} asks for ${name}, which no scrape has`)
  }
}

describe('metrics of several workers', { skip: inShortRun, timeout: 180_000 }, () => {
  const workers = 4
  const [early, late] = [4_992, 5_008]
  const site = new Site()
  let server: Watched
  let key: string
  before(async () => {
    server = await serveWatched(site, ['--workers', String(workers), '--log-level', 'debug'])
    key = (await site.json('tenant', 'create', '--name', 'T')).api_key
  })
  after(() => site.remove())
  const unknown = { method: 'any', route: 'none' }
  const requests = 'strongroom_http_requests_total'

  test('thousands of unknown paths are exactly that many requests and no more series, while a worker is killed and replaced (docs/watching.md)', async () => {
    const first = await Scrape.of(server.metrics)
    assert.equal(first.sum('strongroom_processes'), workers + 1)
    const asked = await askForRandomPaths(server.url, key, early)
    assert.equal(asked.notFound + asked.overloaded, early)
    assert.ok(asked.notFound > early / 2)
    const second = await Scrape.of(server.metrics)
    assert.equal(second.sum(requests, { ...unknown, status: '4xx' }), asked.notFound)
    second.assertNotBelow(first)

    process.kill(newest(server, 2), 'SIGKILL')
    const killed = await Scrape.of(server.metrics)
    killed.assertNotBelow(second)
    const scraping = (async () => {
      let [last, count] = [killed, 0]
      do {
        const next = await Scrape.of(server.metrics)
        next.assertNotBelow(last)
        last = next
        count++
      } while (
        last.sum('strongroom_processes') < workers + 1 ||
        last.sum('strongroom_workers_replaced_total') === 0
      )
      return count
    })()
    await server.line('stderr', line => line.includes('"worker":2,"msg":"ready"'), 2)
    const then = await askForRandomPaths(server.url, key, late)
    assert.equal(then.notFound + then.overloaded, late)
    assert.ok((await scraping) > 0)

    const last = await Scrape.of(server.metrics)
    last.assertNotBelow(killed)
    assert.equal(last.sum(requests, { ...unknown, status: '4xx' }), asked.notFound + then.notFound)
    assert.equal(
      last.sum('strongroom_http_request_duration_seconds_count', unknown),
      last.sum(requests, unknown),
    )
    assert.equal(last.sum('strongroom_workers_replaced_total'), 1)
    assert.equal(last.sum('strongroom_workers_silent'), 0)
    assert.ok(last.series.length <= 1_500, `${last.series.length} series`)
    assert.deepEqual([...last.counters.keys()], [...second.counters.keys()])
  })

  test('a worker that hangs is shown as it last was, and the others are counted (docs/watching.md)', async () => {
    const before = await Scrape.of(server.metrics)
    const hanging = newest(server, 2)
    process.kill(hanging, 'SIGSTOP')
    try {
      const scrape = await Scrape.of(server.metrics)
      scrape.assertNotBelow(before)
      assert.equal(scrape.sum('strongroom_workers_silent'), 1)
    } finally {
      process.kill(hanging, 'SIGCONT')
    }
    assert.equal((await Scrape.of(server.metrics)).sum('strongroom_workers_silent'), 0)
  })
})
