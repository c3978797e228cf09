import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LoadResult, RequestKind } from './load.ts'
import { load } from './processes.ts'
import { median } from './statistics.ts'

const main = join(import.meta.dirname, '../server/src/cli/main.ts')
const counts = (process.env.BENCH_WORKERS ?? '1 2').split(' ').map(Number)
const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const seconds = Number(process.env.BENCH_SECONDS ?? 4)

type Served = {
  readonly workers: number
  readonly port: number
  readonly keys: { readonly api_key: string; readonly private_api_key: string }
  readonly ids: readonly string[]
  stop(): Promise<void>
}

const start = async (workers: number): Promise<Served> => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-bench-'))
  const keyFile = join(folder, 'master.key')
  const vault = ['--data', join(folder, 'data'), '--key-provider', 'file', '--master-key-file', keyFile]
  const strongroom = (...args: string[]): string =>
    execFileSync(process.execPath, [main, ...args], { encoding: 'utf8' })
  strongroom('master-key', '--master-key-file', keyFile)
  strongroom('migrate', ...vault)
  const keys = JSON.parse(strongroom('tenant', 'create', '--name', 'Bench', '--json', ...vault))
  const args = [
    '--max-semi-space-size=32',
    main,
    'serve',
    ...vault,
    '--port',
    '0',
    '--workers',
    String(workers),
  ]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let text = ''
  for await (const chunk of child.stderr) {
    text += chunk
    if (text.includes('listening')) break
  }
  const port = Number(new URL(/"url":"([^"]+)"/.exec(text)?.[1] ?? '').port)
  const answer = await fetch(`http://127.0.0.1:${port}/tokenize`, {
    method: 'POST',
    headers: { 'svc-api-key': keys.api_key, 'content-type': 'application/json' },
    body: JSON.stringify(Array.from({ length: 1_000 }, (_, i) => `value ${i}`)),
  })
  return {
    workers,
    port,
    keys,
    ids: (await answer.json()) as string[],
    stop: async () => {
      child.kill('SIGTERM')
      await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

let serial = 1_000_000
const run = ({ port, keys, ids }: Served, kind: RequestKind): Promise<LoadResult> => {
  serial += 10_000_000
  const key = kind === 'get' ? keys.private_api_key : keys.api_key
  return load({ port, kind, key, ids, connections: 64, seconds, serial })
}

/**
 * `workers`: the same load on `strongroom serve` with as many workers as BENCH_WORKERS lists, in interleaved
 * rounds, each number on a folder of its own.
 */
export const benchWorkers = async (): Promise<void> => {
  const served: Served[] = []
  for (const workers of counts) served.push(await start(workers))
  const rows: Record<string, string | number>[] = []
  for (const kind of ['create', 'get'] as const) {
    const results = new Map<Served, LoadResult[]>(served.map(one => [one, []]))
    for (const one of served) await run(one, kind)
    for (let round = 0; round < rounds; round++)
      for (const one of served) results.get(one)?.push(await run(one, kind))
    for (const [{ workers }, all] of results) {
      const of = (pick: (result: LoadResult) => number): number => median(all.map(pick))
      rows.push({
        kind,
        workers,
        'per second': of(({ requests, seconds }) => requests / seconds).toFixed(0),
        'p50 ms': of(({ latenciesMs }) => latenciesMs.p50).toFixed(1),
        'p99 ms': of(({ latenciesMs }) => latenciesMs.p99).toFixed(1),
        'p99.9 ms': of(({ latenciesMs }) => latenciesMs.p999).toFixed(1),
      })
    }
  }
  for (const one of served) await one.stop()
  console.table(rows)
}
