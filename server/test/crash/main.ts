import { parseArgs } from 'node:util'
import { crashRun } from './crash-run.ts'

/** `npm run test:crash -- --seed N --rounds N`: the crash test for as long as you like. */
const { values } = parseArgs({
  options: { seed: { type: 'string' }, rounds: { type: 'string', default: '50' } },
})
const seed = Number(values.seed ?? Date.now() % 1_000_000)
process.stdout.write(`seed ${seed}\n`)
await crashRun({
  seed,
  rounds: Number(values.rounds),
  report: line => process.stdout.write(`${line}\n`),
})
process.stdout.write('every answered write was there\n')
