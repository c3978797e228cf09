import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Program, Site } from '../rig/program.ts'
import { growthOfFloor, growthOfPeak, type Measure, type Sample } from './growth.ts'
import { type Keys, MixedLoad } from './mixed-load.ts'

type Options = { readonly minutes: number; readonly seed: number; readonly report: (line: string) => void }

/** The flag that bin/strongroom.js sets: without it, V8's young generation goes on growing for longer than a run takes. */
const asItStartsItself = { NODE_OPTIONS: '--max-semi-space-size=16' }
const clients = 6
const sampleMs = 1_000
/** Leaves out compiled code, caches, the first garbage collections and the first sweep. */
const warmUpShare = 0.25
const warmUpMinMs = 90_000
/** 409: two clients with the same idempotency key. */
const statusesExpected = [200, 201, 204, 400, 401, 403, 404, 409]

const measures: readonly Measure[] = [
  { name: 'memory', unit: 'MiB', growth: growthOfFloor, growthMax: 32 },
  { name: 'descriptors', unit: '', growth: growthOfFloor, growthMax: 4 },
  { name: 'threads', unit: '', growth: growthOfFloor, growthMax: 1 },
  { name: 'log of storage', unit: 'MiB', growth: growthOfPeak, growthMax: 16 },
  { name: 'data', unit: 'MiB', growth: growthOfFloor, growthMax: 4 },
  { name: 'other files', unit: '', growth: growthOfFloor, growthMax: 0 },
]

/** Mixed load on a vault whose number of tokens stays the same. Returns what was not as promised. */
export const soakRun = async (site: Site, { minutes, seed, report }: Options): Promise<readonly string[]> => {
  const server = await site.serve([], asItStartsItself)
  const keys: Keys = { ...(await site.json('tenant', 'create', '--name', 'Soak')), base_url: server.url }
  const load = new MixedLoad(keys, seed)
  const end = performance.now() + minutes * 60_000
  const working = Array.from({ length: clients }, async () => {
    while (performance.now() < end) await load.step()
  })
  const samples: Sample[] = []
  const watching = (async () => {
    const warmAt = performance.now() + Math.max(warmUpMinMs, minutes * 60_000 * warmUpShare)
    while (performance.now() < end) {
      const isWarm = load.isWarm && performance.now() > warmAt
      if (isWarm) samples.push(look(server, site.data))
      await sleep(sampleMs)
    }
  })()
  await Promise.all([...working, watching])

  report(`${load.requests} requests in ${minutes} minutes: ${statusesOf(load)}`)
  const complaints = [...load.statuses.keys()]
    .filter(status => !statusesExpected.includes(status))
    .map(status => `${load.statuses.get(status)} answers were a ${status}`)
  if (samples.length < 60) return [...complaints, 'there was no minute to judge after it had warmed up']
  for (const { name, unit, growth, growthMax } of measures) {
    const values = samples.map(sample => sample[name] ?? 0)
    const rise = growth(values)
    report(
      `${name}: ${values[0]?.toFixed(0)} … ${values.at(-1)?.toFixed(0)} ${unit}, at most ${Math.max(...values).toFixed(0)}; rises by ${rise.toFixed(2)}`,
    )
    if (rise > growthMax) complaints.push(`${name} rose by ${rise.toFixed(2)} ${unit}`)
  }
  return complaints
}

const statusesOf = ({ statuses }: MixedLoad): string =>
  [...statuses]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ')

const look = ({ pid }: Program, data: string): Sample => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
  const files = readdirSync(data)
  const size = (name: string): number =>
    existsSync(join(data, name)) ? statSync(join(data, name)).size / 1_048_576 : 0
  return {
    memory: field('VmRSS') / 1_024,
    threads: field('Threads'),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    'log of storage': size('vault.db-wal'),
    data: size('vault.db'),
    'other files': files.filter(name => !name.startsWith('vault.db')).length,
  }
}
