import { parseArgs } from 'node:util'
import { type Config, ConfigError, readConfig, settings } from '../config.ts'

/** What the command line hands to a command. */
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
  /** Options that take a value, with their help. */
  readonly options?: Readonly<Record<string, string>>
  readonly flags?: Readonly<Record<string, string>>
  /** What stands behind the name, for the usage line: `<tenant id>`. */
  readonly words?: readonly string[]
  /** Resolves with the exit code: 0 done, 1 failed, 2 wrongly called or set up. */
  readonly run: (invocation: Invocation) => Promise<number>
}

export const invocation = (
  command: Command,
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Invocation => {
  const named = settings.filter(({ flag }) => flag !== false).map(({ name }) => name)
  let parsed: { values: Record<string, unknown>; positionals: string[] }
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: Object.fromEntries([
        ...[...named, 'config', ...Object.keys(command.options ?? {})].map(name => [
          name,
          { type: 'string' as const },
        ]),
        ...Object.keys(command.flags ?? {}).map(name => [name, { type: 'boolean' as const }]),
      ]),
    })
  } catch {
    throw new ConfigError(`unknown option or missing value; see strongroom ${command.name} --help`)
  }
  if (parsed.positionals.length !== (command.words ?? []).length)
    throw new ConfigError(`wrong number of words; see strongroom ${command.name} --help`)
  const values = parsed.values as Record<string, string | undefined>
  return {
    config: readConfig({ flags: values, environment }),
    options: values,
    flags: Object.fromEntries(
      Object.keys(command.flags ?? {}).map(name => [name, parsed.values[name] === true]),
    ),
    words: parsed.positionals,
  }
}

export const required = ({ options }: Invocation, name: string): string => {
  const value = options[name]
  if (value === undefined || value === '') throw new ConfigError(`--${name} is missing`)
  return value
}

export const usage = (command: Command): string => {
  const rows = [
    ...Object.entries(command.options ?? {}).map(([name, help]) => [`--${name} …`, help]),
    ...Object.entries(command.flags ?? {}).map(([name, help]) => [`--${name}`, help]),
  ]
  const own = rows.map(([name = '', help]) => `  ${name.padEnd(24)}${help}\n`).join('')
  const shared = settings
    .map(({ name, help, flag }) => {
      const variable = `STRONGROOM_${name.replaceAll('-', '_').toUpperCase()}`
      return `  ${(flag === false ? '' : `--${name}`).padEnd(24)}${variable.padEnd(32)}${help}\n`
    })
    .join('')
  return `strongroom ${[command.name, ...(command.words ?? [])].join(' ')}\n\n${command.summary}.\n${
    own === '' ? '' : `\nOptions:\n${own}`
  }\nSettings, also in the JSON file of --config (logLevel, …):\n${shared}`
}
