import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { card } from './cards.ts'
import { benchFind } from './find.ts'
import type { LoadJob } from './load.ts'
import { load, type Measured, type MeasuredVault, startEcho, startVault } from './processes.ts'

/**
 * `npm run bench [-- create get …]`: the real server and a bare echo beside it, in interleaved rounds of one
 * run. Ratios say more than times: the machine is the same for both. `find` is another bench (find.ts).
 */
type Scenario = {
  readonly name: LoadJob['scenario']
  readonly key: 'api_key' | 'private_api_key'
  readonly connections: number
}

const scenarios: readonly Scenario[] = [
  { name: 'create', key: 'api_key', connections: 64 },
  { name: 'get', key: 'private_api_key', connections: 64 },
  { name: 'list', key: 'private_api_key', connections: 64 },
  { name: 'patch', key: 'api_key', connections: 64 },
  { name: 'tokenize', key: 'api_key', connections: 8 },
]

const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const seconds = Number(process.env.BENCH_SECONDS ?? 4)

type Round = {
  readonly perSecond: number
  readonly cpuMicroseconds: number
  readonly p50: number
  readonly p99: number
}

const oneRound = async (server: Measured, job: LoadJob): Promise<Round> => {
  const before = server.cpuMicroseconds()
  const result = await load(job)
  if (result.failed > 0) throw new Error(`${result.failed} requests of ${job.scenario} failed`)
  return {
    perSecond: result.requests / result.seconds,
    cpuMicroseconds: (server.cpuMicroseconds() - before) / result.requests,
    p50: result.latenciesMs.p50,
    p99: result.latenciesMs.p99,
  }
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const spread = (values: readonly number[]): string =>
  `±${Math.round(((Math.max(...values) - Math.min(...values)) / 2 / median(values)) * 100)} %`

const sample = async (
  vault: MeasuredVault,
  { name, key }: Scenario,
  ids: readonly string[],
): Promise<number> => {
  const headers = { 'svc-api-key': vault.keys[key] }
  const base = `http://127.0.0.1:${vault.port}`
  const json = { ...headers, 'content-type': 'application/json' }
  const answer = await {
    create: () => fetch(`${base}/tokens`, { method: 'POST', headers: json, body: JSON.stringify(card(0)) }),
    get: () => fetch(`${base}/tokens/${ids[0]}`, { headers }),
    list: () => fetch(`${base}/tokens?size=20`, { headers }),
    patch: () =>
      fetch(`${base}/tokens/${ids[0]}`, {
        method: 'PATCH',
        headers: { ...headers, 'content-type': 'application/merge-patch+json' },
        body: '{}',
      }),
    tokenize: () =>
      fetch(`${base}/tokenize`, {
        method: 'POST',
        headers: json,
        body: JSON.stringify(Array(1000).fill('x')),
      }),
  }[name]()
  return (await answer.arrayBuffer()).byteLength
}

const makeTokens = async (vault: MeasuredVault, count: number): Promise<string[]> => {
  const ids: string[] = []
  for (let at = 0; at < count; at += 1_000) {
    const answer = await fetch(`http://127.0.0.1:${vault.port}/tokenize`, {
      method: 'POST',
      headers: { 'svc-api-key': vault.keys.api_key, 'content-type': 'application/json' },
      body: JSON.stringify(Array.from({ length: 1_000 }, (_, i) => card(90_000_000_000 + at + i))),
    })
    for (const token of (await answer.json()) as { id: string }[]) ids.push(token.id)
  }
  return ids
}

const wanted = process.argv.slice(2)
if (wanted.includes('find')) {
  await benchFind()
  process.exit(0)
}
const rows: Record<string, string>[] = []
const raw: Record<string, { echo: Round[]; vault: Round[] }> = {}
let serial = 1_000_000
for (const scenario of scenarios) {
  if (wanted.length > 0 && !wanted.includes(scenario.name)) continue
  const vault = await startVault()
  const ids = await makeTokens(vault, 10_000)
  const echo = await startEcho(await sample(vault, scenario, ids))
  const job = (server: Measured, length: number): LoadJob => {
    serial += 10_000_000
    return {
      port: server.port,
      scenario: scenario.name,
      key: vault.keys[scenario.key],
      ids,
      connections: scenario.connections,
      seconds: length,
      serial,
    }
  }
  await oneRound(echo, job(echo, 1))
  await oneRound(vault, job(vault, 2))
  const results = { echo: [] as Round[], vault: [] as Round[] }
  for (let round = 0; round < rounds; round++) {
    results.echo.push(await oneRound(echo, job(echo, seconds)))
    results.vault.push(await oneRound(vault, job(vault, seconds)))
  }
  const bytes = ['vault.db', 'vault.db-wal'].reduce(
    (sum, name) => sum + statSync(join(vault.folder, name)).size,
    0,
  )
  await echo.stop()
  await vault.stop()
  raw[scenario.name] = results
  const of = (side: 'echo' | 'vault', pick: (round: Round) => number): number[] => results[side].map(pick)
  const rates = of('vault', round => round.perSecond)
  rows.push({
    scenario: scenario.name,
    'vault/s': median(rates).toFixed(0),
    spread: spread(rates),
    'echo/s': median(of('echo', round => round.perSecond)).toFixed(0),
    ratio: median(
      results.vault.map((round, i) => round.perSecond / (results.echo[i]?.perSecond ?? 1)),
    ).toFixed(2),
    'vault µs': median(of('vault', round => round.cpuMicroseconds)).toFixed(0),
    'echo µs': median(of('echo', round => round.cpuMicroseconds)).toFixed(0),
    'cpu ratio': median(
      results.vault.map((round, i) => (results.echo[i]?.cpuMicroseconds ?? 0) / round.cpuMicroseconds),
    ).toFixed(2),
    'p50 ms': median(of('vault', round => round.p50)).toFixed(1),
    'p99 ms': median(of('vault', round => round.p99)).toFixed(1),
    'data MiB': (bytes / 1_048_576).toFixed(0),
  })
  console.table(rows.slice(-1))
}
console.table(rows)
mkdirSync(join(import.meta.dirname, 'results'), { recursive: true })
writeFileSync(
  join(import.meta.dirname, 'results', 'latest.json'),
  `${JSON.stringify({ rows, raw }, null, 2)}\n`,
)
