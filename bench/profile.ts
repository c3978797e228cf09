import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CpuProfile, flameGraph } from './flame.ts'
import { makeTokens } from './make-tokens.ts'
import { load, startVault } from './processes.ts'
import { scenarios } from './scenarios.ts'
import { seconds } from './settings.ts'

const profiled = ['create', 'get', 'pages']

/** `npm run bench -- profile`: where the main thread spends its time, as a flame graph for each kind of request. */
export const benchProfile = async (): Promise<void> => {
  const results = join(import.meta.dirname, 'results')
  mkdirSync(results, { recursive: true })
  for (const name of profiled) {
    const scenario = scenarios[name]
    if (scenario === undefined) continue
    const folder = mkdtempSync(join(tmpdir(), 'strongroom-profile-'))
    const vault = await startVault(undefined, ['--cpu-prof', `--cpu-prof-dir=${folder}`])
    const ids = await makeTokens(vault, 10_000)
    const job = { kind: scenario.kind, connections: scenario.connections, ids, seconds, serial: 1_000_000 }
    await load({ ...job, port: vault.port, key: vault.keys[scenario.key] })
    await vault.stop()
    const graph = flameGraph(`${name}: the main thread under load`, lastSeconds(mainThread(folder)))
    writeFileSync(join(results, `${name}.svg`), graph)
    rmSync(folder, { recursive: true, force: true })
    console.log(`bench/results/${name}.svg`)
  }
}

/** Each thread writes its own profile; the main thread's is the one that serves connections. */
const mainThread = (folder: string): CpuProfile => {
  const profiles = readdirSync(folder).map(
    file => JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile,
  )
  const main = profiles.find(({ nodes }) =>
    nodes.some(({ callFrame }) => callFrame.url.endsWith('http/connections/plain-connection.ts')),
  )
  if (main === undefined) throw new Error('no profile of the main thread was written')
  return main
}

/** Leaves out start, filling and warm-up. */
const lastSeconds = (profile: CpuProfile): CpuProfile => {
  const { timeDeltas, samples } = profile
  let micros = (seconds * 1_000_000) / 2
  let from = samples.length
  while (from > 0 && micros > 0) micros -= timeDeltas[--from] ?? 0
  return { ...profile, samples: samples.slice(from), timeDeltas: timeDeltas.slice(from) }
}
