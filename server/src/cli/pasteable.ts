import { parseArgs } from 'node:util'
import { settings } from '../config/settings.ts'
import { shellWord } from '../domain/text/shell-word.ts'
import { commands } from './commands/registry.ts'

// Messages name commands as `strongroom migrate`, wherever they come from: only this edge knows how the program was called.

const names = [...commands.map(({ name }) => name), 'help'].toSorted((a, b) => b.length - a.length)
const mention = new RegExp(String.raw`(?<![\w./-])strongroom (${names.join('|')})(?![\w-])([^;\n]*)`, 'g')

/** The text with commands that work when they are pasted into the shell in which this one was called. */
export const asCalled = (text: string, environment = process.env): string =>
  replaceMentions(text, environment, () => [])

/** The same with the settings that this command was given as flags: with other ones it would be about another vault. */
export const pasteable = (
  text: string,
  args: readonly string[] = process.argv.slice(2),
  environment = process.env,
): string =>
  replaceMentions(text, environment, (name, rest) =>
    typedFlags(args)
      .filter(flag => isTakenBy(name, flag) && !rest.includes('--help') && !rest.includes(`--${flag.name} `))
      .map(flag => `--${flag.name} ${shellWord(flag.value)}`),
  )

const replaceMentions = (
  text: string,
  environment: NodeJS.ProcessEnv,
  flags: (name: string, rest: string) => readonly string[],
): string =>
  text.replace(mention, (_mention, name: string, rest: string) =>
    [program(environment), name, ...flags(name, rest)]
      .join(' ')
      .concat(replaceMentions(rest, environment, flags)),
  )

/** As npx or as a script of npm, the program is in a folder of the project, which is not on the shell's PATH. */
const program = ({ npm_lifecycle_script: script = '' }: NodeJS.ProcessEnv): string =>
  /(?:^|[\s/'"])strongroom(?:\.js)?(?=['"\s]|$)/.test(script) ? 'npx --no -- strongroom' : 'strongroom'

type Flag = { readonly name: string; readonly value: string }

/** As in an address that was refused for it. */
const holdsPassword = /:[^/@]*@/

const aboutGrants = ['tenant', 'app']

const typedFlags = (args: readonly string[]): Flag[] => {
  const options = [...settings.map(({ name }) => name), 'config', ...aboutGrants]
  const { values } = parseArgs({
    args: [...args],
    strict: false,
    options: Object.fromEntries(options.map(name => [name, { type: 'string' as const }])),
  })
  return options.flatMap(name => {
    const { [name]: value } = values
    return typeof value === 'string' && value !== '' && !holdsPassword.test(value) ? [{ name, value }] : []
  })
}

const isTakenBy = (command: string, { name }: Flag): boolean => {
  const { reads = [], options = {} } = commands.find(known => known.name === command) ?? {}
  return aboutGrants.includes(name)
    ? name in options
    : command !== 'help' && (name === 'config' || reads.some(setting => setting === name))
}
