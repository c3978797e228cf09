import { parseArgs } from 'node:util'
import { Site } from '../rig/program.ts'
import { soakRun } from './soak-run.ts'

/** `npm run test:soak -- --minutes N --seed N`: a long mixed load, during which nothing but the data may grow. */
const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '30' }, seed: { type: 'string' } },
})
const seed = Number(values.seed ?? Date.now() % 1_000_000)
const say = (line: string): void => void process.stdout.write(`${line}\n`)
say(`seed ${seed}`)
const site = new Site()
try {
  const complaints = await soakRun(site, { minutes: Number(values.minutes), seed, report: say })
  for (const complaint of complaints) say(`failed: ${complaint}`)
  process.exitCode = complaints.length === 0 ? 0 : 1
} finally {
  await site.remove()
}
