import { threadMicroseconds } from './cpu-time.ts'
import type { LoadResult, RequestKind } from './load.ts'
import { loadServed, type Served, startServed } from './served.ts'
import { rounds } from './settings.ts'
import { median } from './statistics.ts'

const counts = (process.env.BENCH_WORKERS ?? '1 2').split(' ').map(Number)

type Round = LoadResult & {
  /** CPU time of the busiest thread, and of all of them, per request. */
  readonly busiestMicroseconds: number
  readonly allMicroseconds: number
}

/**
 * `workers`: the same load on `strongroom serve` with each number of workers listed in BENCH_WORKERS, in interleaved
 * rounds, each number with a folder of its own. Where cores are scarce, requests per second say little about workers. What
 * remains is how long the busiest thread takes for a request: with a core for every thread, it would set the pace.
 */
export const benchWorkers = async (): Promise<void> => {
  const served: Served[] = []
  for (const workers of counts) served.push(await startServed(workers))
  const rows: Record<string, string | number>[] = []
  for (const kind of ['create', 'get'] as const) {
    const results = new Map<Served, Round[]>(served.map(one => [one, []]))
    for (const one of served) await loadServed(one, kind)
    for (let round = 0; round < rounds; round++)
      for (const one of served) results.get(one)?.push(await runRound(one, kind))
    for (const [{ workers }, all] of results) {
      const of = (pick: (round: Round) => number): number => median(all.map(pick))
      rows.push({
        kind,
        workers,
        'per second': of(({ requests, seconds }) => requests / seconds).toFixed(0),
        'p50 ms': of(({ latenciesMs }) => latenciesMs.p50).toFixed(1),
        'p99 ms': of(({ latenciesMs }) => latenciesMs.p99).toFixed(1),
        'p99.9 ms': of(({ latenciesMs }) => latenciesMs.p999).toFixed(1),
        'busiest thread µs': of(round => round.busiestMicroseconds).toFixed(0),
        'all threads µs': of(round => round.allMicroseconds).toFixed(0),
      })
    }
  }
  for (const one of served) await one.stop()
  console.table(rows)
}

const runRound = async (one: Served, kind: RequestKind): Promise<Round> => {
  const before = threadMicroseconds(one.pid)
  const result = await loadServed(one, kind)
  const spent = [...threadMicroseconds(one.pid)].map(([thread, micros]) => micros - (before.get(thread) ?? 0))
  return {
    ...result,
    busiestMicroseconds: Math.max(...spent) / result.requests,
    allMicroseconds: spent.reduce((sum, micros) => sum + micros, 0) / result.requests,
  }
}
