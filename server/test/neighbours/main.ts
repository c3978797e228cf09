import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { startCluster } from '../rig/postgres-cluster.ts'
import { emptyDatabase, serverVariable } from '../rig/postgres-databases.ts'
import { attacks } from './attacks.ts'
import { carryOutBeside } from './beside.ts'
import { columns, judge } from './verdict.ts'

/**
 * `npm run test:neighbours`: one tenant attacks, and another must not notice (C37).
 *
 *   --engine name     sqlite (default) or postgres
 *   --workers N       processes that serve; 0 (default): one alone
 *   --only text       attacks whose name begins with it; may be repeated
 *   --seconds N       how long each attack lasts (4)
 */
const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    workers: { type: 'string', default: '0' },
    only: { type: 'string', multiple: true },
    seconds: { type: 'string', default: '4' },
  },
})
const { engine, only } = values
if (engine !== 'sqlite' && engine !== 'postgres') throw new Error('--engine is sqlite or postgres')
const chosen = attacks.filter(({ name }) => only?.some(text => name.startsWith(text)) ?? true)
if (chosen.length === 0) throw new Error(`--only is one of ${attacks.map(({ name }) => name).join(', ')}`)

const say = (line: string): void => void process.stdout.write(`${line}\n`)
// The server and the attacker each have a descriptor for every connection.
spawnSync('prlimit', ['--pid', String(process.pid), '--nofile=65536:65536'])
const cluster =
  engine === 'postgres'
    ? await startCluster({ fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB', autovacuum: 'on' })
    : undefined
if (cluster !== undefined) process.env[serverVariable] = cluster.url
let failed = 0
try {
  say(columns.map(({ title, width }) => title.padEnd(width)).join(' '))
  for (const attack of chosen) {
    const database = cluster && (await emptyDatabase())
    try {
      const seen = await carryOutBeside(attack, {
        workers: Math.max(1, Number(values.workers)),
        seconds: Number(values.seconds),
        databaseUrl: database?.url,
      })
      const row = judge(attack, seen)
      if (row.complaints !== '') failed++
      say(columns.map(({ name, width }) => row[name].padEnd(width)).join(' '))
    } catch (error) {
      failed++
      say(`${attack.name} could not be carried out: ${error}`)
    }
    await database?.drop()
  }
} finally {
  await cluster?.stop()
}
say(`${failed} of ${chosen.length} attacks were noticed by the neighbour`)
process.exitCode = failed === 0 ? 0 : 1
