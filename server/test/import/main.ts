import { parseArgs } from 'node:util'
import { startCluster } from '../rig/postgres-cluster.ts'
import { killRun } from './kill-run.ts'

/**
 * `npm run test:import`: a file is imported while the process is killed, and nothing is missing or doubled.
 *
 *   --tokens N --kills N  default: 100,000 and 10
 *   --engine name         sqlite or postgres; default: sqlite
 *   --seed N              when it is killed; default: a different one each time
 */
const { values } = parseArgs({
  options: {
    tokens: { type: 'string', default: '100000' },
    kills: { type: 'string', default: '10' },
    engine: { type: 'string', default: 'sqlite' },
    seed: { type: 'string' },
  },
})
const { engine } = values
if (engine !== 'sqlite' && engine !== 'postgres') throw new Error('--engine is sqlite or postgres')
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const seed = Number(values.seed ?? Date.now() % 1_000_000)
say(`--engine ${engine} --tokens ${values.tokens} --kills ${values.kills} --seed ${seed}`)
const cluster =
  engine === 'postgres' ? await startCluster({ fsync: 'on', full_page_writes: 'on' }) : undefined
try {
  await killRun({
    tokens: Number(values.tokens),
    kills: Number(values.kills),
    seed,
    report: say,
    ...(cluster !== undefined && { databaseUrl: cluster.url }),
  })
} catch (error) {
  say(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
} finally {
  await cluster?.stop()
}
