import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { benchMemory, benchScale, benchStartup } from './at-scale.ts'
import { ratioChart } from './chart.ts'
import { benchCitus } from './citus.ts'
import { benchDetokenize } from './detokenize.ts'
import { benchFeed } from './feed.ts'
import { benchFind } from './find.ts'
import { benchLog } from './log.ts'
import { benchPostgres } from './postgres.ts'
import { benchProfile } from './profile.ts'
import { benchProxy } from './proxy.ts'
import { type Result, runScenario, scenarios } from './scenarios.ts'
import { benchSize } from './size.ts'
import { benchWorkers } from './workers.ts'

/**
 * `npm run bench [-- create get …]`: the real server and a yardstick, in interleaved rounds of one run. Ratios say more
 * than times, because the machine is the same for both. Without names, runs every scenario; the others fill large
 * vaults and run only by name.
 */
const others: Readonly<Record<string, () => Promise<void>>> = {
  find: benchFind,
  scale: benchScale,
  memory: benchMemory,
  startup: benchStartup,
  workers: benchWorkers,
  postgres: benchPostgres,
  citus: benchCitus,
  profile: benchProfile,
  size: benchSize,
  log: benchLog,
  feed: benchFeed,
  detokenize: benchDetokenize,
  proxy: benchProxy,
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter(name => scenarios[name] === undefined && others[name] === undefined)
if (unknown.length > 0) {
  const names = [...Object.keys(scenarios), ...Object.keys(others)].join(', ')
  console.error(`there is no bench ${unknown.join(', ')}; there are ${names}`)
  process.exit(2)
}

const results: Record<string, Result> = {}
for (const [name, scenario] of Object.entries(scenarios)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const result = await runScenario(name, scenario)
  results[name] = result
  console.table([result.row])
}
for (const [name, bench] of Object.entries(others)) if (wanted.includes(name)) await bench()

if (Object.keys(results).length > 0) {
  console.table(Object.values(results).map(({ row }) => row))
  const folder = join(import.meta.dirname, 'results')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'latest.json'), `${JSON.stringify(results, null, 2)}\n`)
  const bars = Object.entries(results).map(([name, { row }]) => {
    const { bar } = scenarios[name] ?? {}
    return { name, ratio: Number(row.ratio), ...(bar !== undefined && { bar }) }
  })
  writeFileSync(join(folder, 'latest.svg'), ratioChart(bars))
}
