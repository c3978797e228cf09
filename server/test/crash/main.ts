import { parseArgs } from 'node:util'
import { crashRun } from './crash-run.ts'
import { deathNames } from './deaths.ts'
import type { EngineName } from './fleet.ts'
import { workerCrashRun } from './worker-crash-run.ts'

/**
 * `npm run test:crash -- --seed N --rounds N --engine sqlite|postgres --nodes N --point name`: the crash oracle, for as
 * long as you like. Without an engine both, PostgreSQL with three nodes, and the workers of one machine as well.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    rounds: { type: 'string', default: '50' },
    engine: { type: 'string' },
    nodes: { type: 'string' },
    point: { type: 'string' },
  },
})
const { engine, point } = values
const say = (line: string): void => void process.stdout.write(`${line}\n`)
if (point !== undefined && !deathNames.includes(point))
  throw new Error(`--point is one of ${deathNames.join(', ')}`)
const isEngine = (name: string): name is EngineName => name === 'sqlite' || name === 'postgres'
if (engine !== undefined && !isEngine(engine)) throw new Error('--engine is sqlite or postgres')

const seed = Number(values.seed ?? Date.now() % 1_000_000)
const rounds = Number(values.rounds)

const runAll = async (): Promise<void> => {
  for (const one of engine === undefined ? (['sqlite', 'postgres'] as const) : [engine]) {
    const nodes = Number(values.nodes ?? (one === 'postgres' ? 3 : 1))
    const deaths = point === undefined ? undefined : [point]
    say(
      `--engine ${one} --nodes ${nodes} --seed ${seed} --rounds ${rounds}${point ? ` --point ${point}` : ''}`,
    )
    await crashRun({ engine: one, nodes, seed, rounds, report: say, ...(deaths && { deaths }) })
  }
  if (engine !== undefined || point !== undefined) return
  say(`workers, --seed ${seed}`)
  await workerCrashRun({ seed, kills: rounds, report: say })
}

try {
  await runAll()
  say('every answered write was there, once')
} catch (error) {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
