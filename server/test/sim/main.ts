import { parseArgs } from 'node:util'
import { shrink, simulate } from './simulate.ts'

/** `npm run test:sim -- --seed N --steps N`: the simulation for as long as you like. */
const { values } = parseArgs({
  options: { seed: { type: 'string' }, steps: { type: 'string', default: '200000' } },
})
const seed = Number(values.seed ?? Date.now() % 1_000_000)
const say = (line: string): void => void process.stdout.write(`${line}\n`)
say(`seed ${seed}`)
const started = performance.now()
const { steps, failure } = await simulate({ seed, steps: Number(values.steps) })
const seconds = (performance.now() - started) / 1_000
say(`${steps} steps, ${Math.round(steps / seconds)} per second`)
if (failure === undefined) say('every answer and every write was as the model says')
else {
  const { rounds, error } = await shrink(failure)
  say(`failed after ${failure.rounds.length} rounds; these ${rounds.length} fail as well:`)
  for (const round of rounds) say(JSON.stringify(round))
  say(error instanceof Error ? (error.stack ?? error.message) : String(error))
  say(`again: npm run test:sim -- --seed ${seed} --steps ${values.steps}`)
  process.exitCode = 1
}
