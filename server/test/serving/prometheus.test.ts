import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { isLong } from '../rig/long-run.ts'
import { Program, Site } from '../rig/program.ts'
import { askForRandomPaths, serveWatched, type Watched } from './watched.ts'
import { newest } from './worker-connections.ts'

const watching = join(import.meta.dirname, '../../../deploy/watching')

const whyNot = (): string | false => {
  if (!isLong) return 'it takes half a minute: npm run test:long'
  return spawnSync('prometheus', ['--version']).error === undefined ? false : 'Prometheus is not installed'
}

const freePort = (): Promise<number> =>
  new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })

/** A real Prometheus that scrapes the server every half second, with our rules. */
class Prometheus {
  readonly program: Program
  readonly #url: string

  private constructor(program: Program, url: string) {
    this.program = program
    this.#url = url
  }

  static async start(site: Site, metrics: string): Promise<Prometheus> {
    const port = await freePort()
    copyFileSync(join(watching, 'alerts.yml'), join(site.path, 'alerts.yml'))
    const config = site.file(
      'prometheus.yml',
      `global: {scrape_interval: 500ms, evaluation_interval: 1s}
rule_files: [alerts.yml]
scrape_configs:
  - job_name: strongroom
    static_configs: [{targets: ["${new URL(metrics).host}"]}]
`,
    )
    const args = ['--config.file', config, '--storage.tsdb.path', join(site.path, 'prometheus')]
    const program = new Program('prometheus', [...args, '--web.listen-address', `127.0.0.1:${port}`], {
      cwd: site.path,
      env: { PATH: process.env.PATH },
    })
    await program.line('stderr', line => line.includes('Server is ready'))
    return new Prometheus(program, `http://127.0.0.1:${port}`)
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely and assert what they find
  async ask(path: string): Promise<any> {
    const reply = await fetch(`${this.#url}/api/v1/${path}`)
    const { status, data, error } = JSON.parse(await reply.text())
    assert.equal(status, 'success', `${path}: ${error}`)
    return data
  }

  async query(query: string): Promise<[labels: Record<string, string>, value: number][]> {
    const { result } = await this.ask(`query?query=${encodeURIComponent(query)}`)
    return result.map(({ metric, value }: { metric: Record<string, string>; value: [number, string] }) => [
      metric,
      Number(value[1]),
    ])
  }

  async value(query: string): Promise<number | undefined> {
    return (await this.query(query))[0]?.[1]
  }
}

const unknown = 'strongroom_http_requests_total{route="none",status="4xx"}'

describe('a real Prometheus', { timeout: 180_000, skip: whyNot() }, () => {
  const site = new Site()
  let server: Watched
  let prometheus: Prometheus
  let key: string
  before(async () => {
    server = await serveWatched(site, ['--workers', '4', '--log-level', 'debug'])
    key = (await site.json('tenant', 'create', '--name', 'T')).api_key
    prometheus = await Prometheus.start(site, server.metrics)
  })
  after(async () => {
    await prometheus?.program.end()
    await site.remove()
  })

  test('it sees 10,000 unknown paths, exactly, over four workers of which one is killed, and no counter falls (docs/watching.md)', async () => {
    assert.equal((await askForRandomPaths(server.url, key, 4_992)).notFound, 4_992)
    while ((await prometheus.value(unknown)) !== 4_992) await wait(100)
    process.kill(newest(server, 3), 'SIGKILL')
    await server.line('stderr', line => line.includes('"worker":3,"msg":"ready"'), 2)
    assert.equal((await askForRandomPaths(server.url, key, 5_008)).notFound, 5_008)
    const until = Date.now() + 20_000
    while ((await prometheus.value(unknown)) !== 10_000 && Date.now() < until) await wait(100)
    assert.equal(await prometheus.value(unknown), 10_000)
    const names: string[] = await prometheus.ask('label/__name__/values')
    const counters = names.filter(name => /^strongroom_.+_(total|bucket|count|sum)$/.test(name))
    assert.ok(counters.length > 30)
    for (const name of counters) assert.equal(await prometheus.value(`max(resets(${name}[10m]))`), 0, name)
    assert.equal(await prometheus.value('strongroom_workers_replaced_total'), 1)
    const series = (await prometheus.value('count({__name__=~"strongroom_.+"})')) ?? Number.NaN
    assert.ok(series <= 1_500, `${series} series`)
  })

  test('it answers every query of the dashboard, and evaluates every rule (deploy/watching)', async () => {
    const queries = JSON.parse(readFileSync(join(watching, 'dashboard.json'), 'utf8'))
      .panels.flatMap(({ targets = [] }) => targets)
      .map(({ expr }: { expr: string }) => expr)
    assert.ok(queries.length > 40)
    for (const query of queries) {
      const asked = query.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m')
      const found = await prometheus.query(asked)
      // This server has no certificate, and no key of it expires.
      if (!/expiry_timestamp/.test(query)) assert.ok(found.length > 0, asked)
    }
    const { groups } = await prometheus.ask('rules')
    for (const { name, health, lastError } of groups[0].rules)
      assert.equal(health, 'ok', `${name}: ${lastError}`)
    const { alerts } = await prometheus.ask('alerts')
    assert.deepEqual(
      alerts
        .filter(({ state }: { state: string }) => state === 'firing')
        .map(({ labels }: { labels: { alertname: string } }) => labels.alertname),
      ['StrongroomWorkerDied'],
    )
  })
})
