import { parseArgs } from 'node:util'
import { type Config, readConfig } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { type SettingName, settings, variableName } from '../config/settings.ts'
import { didYouMean } from '../domain/text/did-you-mean.ts'

/** What a command gets from the command line. */
export type Invocation = {
  readonly config: Config
  /** Options of the command itself, such as --name. */
  readonly options: Readonly<Record<string, string | undefined>>
  readonly flags: Readonly<Record<string, boolean>>
  readonly words: readonly string[]
}

export type Command = {
  /** `tenant create` */
  readonly name: string
  readonly summary: string
  /** The settings that affect the command. It accepts the others too, so one set of flags works for all commands. */
  readonly reads: readonly SettingName[]
  /** Options that take a value, with their help. */
  readonly options?: Readonly<Record<string, string>>
  readonly flags?: Readonly<Record<string, string>>
  /** Which of its options and flags must be given. Missing options are refused here, missing flags by the command. */
  readonly requires?: readonly string[]
  /** What an option or the argument may be, if that is one of a few words: for completion in shells. */
  readonly values?: Readonly<Record<string, readonly string[]>>
  /** What options alone do not tell, such as the form of a file that one of them names. */
  readonly notes?: string
  /** A whole call, without the settings that say where the vault is. */
  readonly example: string
  /** Settings that the command accepts under another name, by setting: `database-url` as `to`. */
  readonly spelled?: Readonly<Record<string, string>>
  /**
   * If not set, `--data` and a database exclude each other: the first source (flag, variable, file) that names one wins (C35).
   */
  readonly takesBothStorages?: true
  /** The exit code of every failure, wrong usage too, of a command whose other codes say what it found. */
  readonly failsWith?: 1
  /** The arguments in the usage line: `<tenant id>`. */
  readonly words?: readonly string[]
  readonly run: Run
}

/** Resolves with the exit code: 0 done, 1 failed, 2 called or set up wrongly. */
export type Run = (invocation: Invocation) => Promise<number>

export const invocation = (
  command: Command,
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Invocation => {
  const { options, flags, words } = parse(command, args)
  const { spelled = {}, takesBothStorages = false } = command
  const config = readConfig({ options, environment, spelled, takesBothStorages })
  return { config, options, flags, words }
}

const parse = (command: Command, args: readonly string[]): Omit<Invocation, 'config'> => {
  const named = settings.filter(({ isSecret }) => !isSecret).map(({ name }) => name)
  const takeValue = [...named, 'config', ...Object.keys(command.options ?? {})]
  const takeNone = Object.keys(command.flags ?? {})
  const fault = (text: string): ConfigError =>
    new ConfigError(`${text}; see strongroom ${command.name} --help`)

  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    tokens: true,
    options: Object.fromEntries([
      ...takeValue.map(name => [name, { type: 'string' as const }]),
      ...takeNone.map(name => [name, { type: 'boolean' as const }]),
    ]),
  })
  const options: Record<string, string> = {}
  const flags = Object.fromEntries(takeNone.map(name => [name, false]))
  const words: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option') continue
    const { name, rawName, value, inlineValue } = token
    if (takeNone.includes(name)) {
      if (value !== undefined) throw fault(`${rawName} takes no value`)
      flags[name] = true
    } else if (takeValue.includes(name)) {
      // `--name --json` forgot the name; `--name=--json` means it.
      if (value === undefined || (!inlineValue && value.startsWith('-')))
        throw fault(`${rawName} needs a value`)
      options[name] = value
    } else if (settings.some(setting => setting.name === name))
      throw fault(`${rawName} is not an option, as others could read it: set ${variableName(name)}`)
    else throw fault(`there is no option ${rawName}${didYouMean(name, [...takeValue, ...takeNone], '--')}`)
  }
  const expected = command.words ?? []
  if (words.length < expected.length) throw fault(`${expected[words.length]} is missing`)
  if (words.length > expected.length) throw fault('too many arguments')
  // An unset variable leaves an empty word, as with an option.
  const empty = expected[words.indexOf('')]
  if (empty !== undefined) throw fault(`${empty} is empty`)
  for (const name of requiredOptions(command)) requireOption(options, name)
  return { options, flags, words }
}

/** An option that the command's declaration requires. */
export const required = ({ options }: Invocation, name: string): string => requireOption(options, name)

const requireOption = (options: Invocation['options'], name: string): string => {
  const value = options[name]
  if (value === undefined || value === '') throw new ConfigError(`--${name} is missing${shownBy[name] ?? ''}`)
  return value
}

const requiredOptions = ({ requires = [], options = {} }: Command): readonly string[] =>
  requires.filter(name => name in options)

/** Where an id comes from. */
const shownBy: Readonly<Record<string, string>> = {
  tenant: ': strongroom tenant list shows the ids',
  app: ': strongroom app list shows the ids',
}
