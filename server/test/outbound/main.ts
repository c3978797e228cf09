import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { bombs } from './bombs.ts'
import { deadlines, hanging, leaving } from './hanging.ts'
import { publishedLibraries } from './published-libraries.ts'
import { type EngineName, type Scenario, Scene } from './scene.ts'
import { takeover } from './takeover.ts'
import { writers } from './writers.ts'

/**
 * `npm run test:outbound`: hostile destinations, hasty writers and dying nodes, against real servers.
 *
 *   --only name     one of the scenarios below; several are carried out in turn
 *   --engine name   sqlite or postgres; default: every one that the scenario is for
 */
const scenarios: readonly Scenario[] = [
  hanging,
  leaving,
  deadlines,
  bombs,
  takeover,
  writers,
  publishedLibraries,
]

const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true }, engine: { type: 'string' } },
})
const chosen = scenarios.filter(({ name }) => values.only?.includes(name) ?? true)
if (chosen.length === 0) throw new Error(`--only is one of ${scenarios.map(({ name }) => name).join(', ')}`)

const say = (line: string): void => void process.stdout.write(`${line}\n`)
// A thousand callers and a thousand connections to destinations have a descriptor each, at both ends.
spawnSync('prlimit', ['--pid', String(process.pid), '--nofile=65536:65536'])

const carryOut = async ({ name, happen }: Scenario, engine: EngineName): Promise<readonly string[]> => {
  say(`${name} (${engine})`)
  const scene = await Scene.open(engine)
  try {
    return await happen(scene, line => say(`  ${line}`))
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  } finally {
    await scene.close()
  }
}

for (const scenario of chosen)
  for (const engine of scenario.engines) {
    if (values.engine !== undefined && values.engine !== engine) continue
    const complaints = await carryOut(scenario, engine)
    for (const complaint of complaints) say(`  failed: ${complaint}`)
    if (complaints.length > 0) process.exitCode = 1
  }
process.exit()
