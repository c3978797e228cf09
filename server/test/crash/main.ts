import { parseArgs } from 'node:util'
import { type CrashOptions, crashRun, replayOf } from './crash-run.ts'
import type { EngineName } from './fleet.ts'
import { killPlanNames } from './kill-plans.ts'
import { workerCrashRun } from './worker-crash-run.ts'

/**
 * `npm run test:crash`: the crash oracle, for as long as you like.
 *
 *   --seed N --rounds N   default: a different seed each time, 50 rounds
 *   --engine name         sqlite, postgres or citus; default: the first two, and the workers of one machine
 *   --nodes N             nodes on one storage; default: 1 on SQLite, otherwise 3
 *   --workers N           processes per node; default: 1
 *   --point name          only this way to die; several are used in turn
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    rounds: { type: 'string', default: '50' },
    engine: { type: 'string' },
    nodes: { type: 'string' },
    workers: { type: 'string', default: '1' },
    point: { type: 'string', multiple: true },
  },
})
const { engine, point: plans } = values
const unknown = plans?.find(name => !killPlanNames.includes(name))
if (unknown !== undefined) throw new Error(`--point is one of ${killPlanNames.join(', ')}`)
const isEngine = (name: string): name is EngineName =>
  name === 'sqlite' || name === 'postgres' || name === 'citus'
if (engine !== undefined && !isEngine(engine)) throw new Error('--engine is sqlite, postgres or citus')

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const seed = Number(values.seed ?? Date.now() % 1_000_000)
const rounds = Number(values.rounds)
const common = { seed, rounds, report: say, ...(plans && { plans }) }
const everything: readonly CrashOptions[] = [
  { ...common, engine: 'sqlite', nodes: 1, workers: 1 },
  { ...common, engine: 'sqlite', nodes: 1, workers: 2 },
  { ...common, engine: 'postgres', nodes: 3, workers: 1 },
]
const nodes = Number(values.nodes ?? (engine === 'sqlite' ? 1 : 3))
const workers = Number(values.workers)
try {
  for (const run of engine === undefined ? everything : [{ ...common, engine, nodes, workers }]) {
    say(replayOf(run))
    await crashRun(run)
  }
  if (engine === undefined) {
    say(`workers, --seed ${seed}`)
    await workerCrashRun({ seed, kills: rounds, report: say })
  }
  say('every answered write was there, once')
} catch (error) {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
