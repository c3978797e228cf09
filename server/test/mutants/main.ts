import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { kinds, type Mutant, readMutants } from './mutant.ts'
import { plant, readSources, repository, runTests, type Source, withCopy } from './workshop.ts'

/**
 * `npm run test:mutants [-- --only text] [--list]`: plants each bug in a copy of the sources and runs the test that
 * must notice it. Exits with 1 if a bug survives, if one no longer fits the code, or if a test fails without it. With
 * `--list`, lists the bugs by the part of the rig for which they are planted.
 */
const { values } = parseArgs({
  options: { only: { type: 'string', default: '' }, list: { type: 'boolean', default: false } },
})
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

const nameOf = ({ kind, name }: Mutant): string => `${kinds.indexOf(kind) + 1} ${kind}: ${name}`
if (values.list) {
  for (const mutant of mutants) say(`${nameOf(mutant)} (${mutant.bug})`)
  process.exit(isWell ? 0 : 1)
}

const sources = readSources(repository)

/** Without the bug the same tests must pass, or their failure would prove nothing. */
const commandOf = ({ run, pattern }: Mutant): string => JSON.stringify([run, pattern])
const controls = new Map(mutants.map(mutant => [commandOf(mutant), mutant]))
const sound = new Set<string>()
for (const [command, mutant] of controls) {
  const { passed, failures } = await withCopy(sources, folder => runTests(folder, mutant))
  if (passed) sound.add(command)
  else complain(`${mutant.run.join(' ')} fails without any mutant: ${failures[0] ?? 'no test ran'}`)
}

for (const mutant of mutants) {
  if (!sound.has(commandOf(mutant))) continue
  let spoilt: readonly Source[]
  try {
    spoilt = plant(sources, mutant)
  } catch (error) {
    complain(String(error))
    continue
  }
  const { passed, failures } = await withCopy(spoilt, folder => runTests(folder, mutant))
  const [first] = failures
  if (passed) complain(`${nameOf(mutant)} survives (${mutant.bug})`)
  else if (first === undefined) complain(`${nameOf(mutant)} breaks ${mutant.run[0]} itself`)
  else say(`✔ ${nameOf(mutant)} → ${first}`)
}
process.exitCode = isWell ? 0 : 1
