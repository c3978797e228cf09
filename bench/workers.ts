import type { LoadResult } from './load.ts'
import { loadServed, type Served, startServed } from './served.ts'
import { rounds } from './settings.ts'
import { median } from './statistics.ts'

const counts = (process.env.BENCH_WORKERS ?? '1 2').split(' ').map(Number)

/**
 * `workers`: the same load on `strongroom serve` with each number of workers listed in BENCH_WORKERS, in interleaved
 * rounds, each number with a folder of its own.
 */
export const benchWorkers = async (): Promise<void> => {
  const served: Served[] = []
  for (const workers of counts) served.push(await startServed(workers))
  const rows: Record<string, string | number>[] = []
  for (const kind of ['create', 'get'] as const) {
    const results = new Map<Served, LoadResult[]>(served.map(one => [one, []]))
    for (const one of served) await loadServed(one, kind)
    for (let round = 0; round < rounds; round++)
      for (const one of served) results.get(one)?.push(await loadServed(one, kind))
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
