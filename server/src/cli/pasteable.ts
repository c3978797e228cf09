import { parseArgs } from 'node:util'
import { settings } from '../config/settings.ts'
import { shellWord } from '../domain/text/terminal.ts'
import type { Command } from './command.ts'

// Messages name commands as `strongroom migrate`, wherever they come from. Only the command line knows how the program was
// called.

type Called = {
  readonly commands: readonly Command[]
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Passed in, not imported, because the commands import this file. */
let called: Called = { commands: [], args: [], environment: {} }

/** Set before anything is printed. */
export const rememberCall = (call: Called): void => {
  called = call
}

/** Rewrites the commands in a text so that they work when pasted into the shell that called this one. */
export const asCalled = (text: string): string => replaceMentions(text, () => [])

/** The same, with the settings that this command was given as flags: with other settings it would concern another vault. */
export const pasteable = (text: string): string =>
  replaceMentions(text, (name, rest) =>
    typedFlags()
      .filter(flag => isTakenBy(name, flag) && !rest.includes('--help') && !rest.includes(`--${flag.name} `))
      .map(flag => `--${flag.name} ${shellWord(flag.value)}`),
  )

const replaceMentions = (text: string, flags: (name: string, rest: string) => readonly string[]): string => {
  const names = [...called.commands.map(({ name }) => name), 'help'].toSorted((a, b) => b.length - a.length)
  const mention = new RegExp(
    String.raw`(?<![\w./-])strongroom (${names.join('|')}|<command>)(?![\w-])([^;\n]*)`,
    'g',
  )
  return text.replace(mention, (_mention, name: string, rest: string) =>
    [program(), name, ...flags(name, rest)].join(' ').concat(replaceMentions(rest, flags)),
  )
}

/** With npx, or as a script of npm, the program is in a folder of the project or of npm, which is not on the shell's PATH. */
const program = (): string => {
  const { npm_lifecycle_script: script = '', npm_config_package: packages = '' } = called.environment
  if (!/(?:^|[\s/'"])strongroom(?:\.js)?(?=['"\s]|$)/.test(script)) return 'strongroom'
  // `npx -p` has a line for each package, and empty ones between them.
  const named = packages.split('\n').filter(name => name !== '')
  return named.length === 0
    ? 'npx --no -- strongroom'
    : `npx ${named.map(name => `-p ${shellWord(name)}`).join(' ')} -- strongroom`
}

type Flag = { readonly name: string; readonly value: string }

/** As in an address that was refused for it. */
const holdsPassword = /:[^/@]*@/

/** Options that say which vault a command concerns, for commands that have them. */
const about = ['tenant', 'app', 'from', 'to']

const typedFlags = (): Flag[] => {
  const options = [...settings.map(({ name }) => name), 'config', ...about]
  const { values } = parseArgs({
    args: [...called.args],
    strict: false,
    options: Object.fromEntries(options.map(name => [name, { type: 'string' as const }])),
  })
  return options.flatMap(name => {
    const { [name]: value } = values
    return typeof value === 'string' && value !== '' && !holdsPassword.test(value) ? [{ name, value }] : []
  })
}

const isTakenBy = (command: string, { name }: Flag): boolean => {
  const { reads = [], options = {} } = called.commands.find(known => known.name === command) ?? {}
  return about.includes(name)
    ? name in options
    : /^\w/.test(command) &&
        command !== 'help' &&
        (name === 'config' || reads.some(setting => setting === name))
}
