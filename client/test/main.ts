import { parseArgs } from 'node:util'
import { Seeded } from '../../server/test/rig/seeded.ts'

const usage = `Usage: npm run test:client -- lost-answers [--creates N] [--kills N] [--seed N]
       npm run test:client -- runtimes [--only name]
       npm run test:client -- package
`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    creates: { type: 'string', default: '10000' },
    kills: { type: 'string', default: '20' },
    seed: { type: 'string' },
    only: { type: 'string' },
  },
})
const say = (line: string): void => void process.stdout.write(`${line}\n`)

const lostAnswers = async (): Promise<boolean> => {
  const { loseAnswers } = await import('./lost-answers/lose-answers.ts')
  const seed = Number(values.seed ?? Date.now() % 1_000_000)
  const creates = Number(values.creates)
  say(`--seed ${seed}`)
  const outcome = await loseAnswers({
    creates,
    kills: Number(values.kills),
    oneIn: 5,
    random: new Seeded(seed),
  })
  say(JSON.stringify(outcome))
  return [outcome.tokens, outcome.told, outcome.ids].every(count => count === creates)
}

const commands: Readonly<Record<string, () => Promise<boolean>>> = {
  'lost-answers': lostAnswers,
  runtimes: async () => (await import('./runtimes/run-runtimes.ts')).runRuntimes(values.only, say),
  package: async () => (await import('./runtimes/check-package.ts')).checkPackage(say),
}
const command = commands[positionals[0] ?? '']
if (command === undefined) {
  process.stderr.write(usage)
  process.exitCode = 2
} else if (!(await command())) {
  say('failed')
  process.exitCode = 1
}
