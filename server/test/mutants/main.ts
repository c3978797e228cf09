import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { kinds, type Mutant, readMutants } from './mutant.ts'
import { plant, runTests, withCopy } from './workshop.ts'

/**
 * `npm run test:mutants [-- --only text]`: plants each bug in a copy of the sources and runs the test that must
 * notice it. Exits with 1 where a bug survives, where a patch no longer applies, and where a test fails without it.
 */
const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } })
const mutants = readMutants(join(import.meta.dirname)).filter(({ name, kind }) =>
  `${kind} ${name}`.includes(values.only),
)
const say = (line: string): void => void process.stdout.write(`${line}\n`)
let isWell = true
const complain = (line: string): void => {
  isWell = false
  say(`✖ ${line}`)
}

if (values.only === '')
  for (const kind of kinds)
    if (mutants.filter(mutant => mutant.kind === kind).length < 2)
      complain(`fewer than two mutants of ${kind}`)

/** Without the bug the same tests pass, else their failing would prove nothing. */
const commandOf = ({ run, pattern }: Mutant): string => JSON.stringify([run, pattern])
const controls = new Map(mutants.map(mutant => [commandOf(mutant), mutant]))
const sound = new Set<string>()
for (const [command, mutant] of controls) {
  const { passed, failures } = await withCopy(folder => runTests(folder, mutant))
  if (passed) sound.add(command)
  else complain(`${mutant.run.join(' ')} fails without any mutant: ${failures[0] ?? 'no test ran'}`)
}

for (const mutant of mutants) {
  if (!sound.has(commandOf(mutant))) continue
  await withCopy(async folder => {
    if (!plant(folder, mutant)) {
      complain(`${mutant.kind}: ${mutant.name} no longer applies`)
      return
    }
    const { passed, failures } = await runTests(folder, mutant)
    const [first] = failures
    if (passed) complain(`${mutant.kind}: ${mutant.name} survives (${mutant.bug})`)
    else if (first === undefined) complain(`${mutant.kind}: ${mutant.name} breaks ${mutant.run[0]} itself`)
    else say(`✔ ${mutant.kind}: ${mutant.name} → ${first}`)
  })
}
process.exitCode = isWell ? 0 : 1
