import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { Site } from '../rig/program.ts'
import { overloadRun } from './overload-run.ts'

/**
 * `npm run test:overload -- --seconds N --idle N`: ten times the load that the vault can take, and crowds of idle
 * connections.
 */
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    idle: { type: 'string', default: '10000' },
  },
})
const say = (line: string): void => void process.stdout.write(`${line}\n`)
// Each idle connection takes a descriptor at both ends.
spawnSync('prlimit', ['--pid', String(process.pid), '--nofile=65536:65536'])
const site = new Site()
try {
  const complaints = await overloadRun(site, {
    seconds: Number(values.seconds),
    idle: Number(values.idle),
    report: say,
  })
  for (const complaint of complaints) say(`failed: ${complaint}`)
  process.exitCode = complaints.length === 0 ? 0 : 1
} finally {
  await site.remove()
}
