import { parseArgs } from 'node:util'
import { crashRun } from './crash-run.ts'
import { workerCrashRun } from './worker-crash-run.ts'

/** `npm run test:crash -- --seed N --rounds N`: the crash tests, of the whole vault and of its workers, for as long as you like. */
const { values } = parseArgs({
  options: { seed: { type: 'string' }, rounds: { type: 'string', default: '50' } },
})
const seed = Number(values.seed ?? Date.now() % 1_000_000)
process.stdout.write(`seed ${seed}\n`)
const rounds = Number(values.rounds)
const report = (line: string) => process.stdout.write(`${line}\n`)
await crashRun({ seed, rounds, report })
await workerCrashRun({ seed, kills: rounds, report })
process.stdout.write('every answered write was there\n')
