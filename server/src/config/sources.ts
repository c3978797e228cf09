import { resolve } from 'node:path'
import { ConfigError } from './config-error.ts'
import { readConfigFile } from './config-file.ts'
import { type Given, ifGiven } from './given.ts'
import { type SettingName, type SettledName, settings, variableName } from './settings.ts'

export type Sources = {
  /** Of the command line, those that take a value. */
  readonly options: Readonly<Record<string, string | undefined>>
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Settings that a command takes under an option of its own, such as --to. */
  readonly spelled?: Readonly<Record<string, string>>
}

/** The settings that were given: a flag takes precedence over a variable, and a variable over the config file (C35). */
export type GivenSettings = {
  find(name: SettingName): Given | undefined
  /** Falls back to the default. */
  settled(name: SettledName): Given
  path(name: SettingName): string | undefined
  /** A folder and a database are one setting with two spellings: the source that comes first in that order decides. */
  storage(): Partial<Record<'data' | 'database-url', Given>>
}

export const givenSettings = ({ options, environment, spelled = {} }: Sources): GivenSettings => {
  /** A forgotten variable leaves `--data "$UNSET"` empty, which does not mean the current folder. */
  const fromOption = (name: string): Given | undefined => {
    const own = spelled[name]
    const option = own !== undefined && options[own] !== undefined ? own : name
    if (option === own && options[name] !== undefined)
      throw new ConfigError(`--${own} and --${name} are one setting: leave one out`)
    const text = options[option]
    if (text === '') throw new ConfigError(`--${option} is empty`)
    return text === undefined ? undefined : { text, source: `--${option}` }
  }
  /** An empty variable counts as not set. */
  const fromVariable = (name: string): Given | undefined => {
    const source = variableName(name)
    const text = environment[source]
    return text === undefined || text === '' ? undefined : { text, source }
  }
  const file = readConfigFile((fromOption('config') ?? fromVariable('config'))?.text)
  const inOrder = [fromOption, fromVariable, (name: string) => file.get(name)]

  const find = (name: SettingName): Given | undefined => {
    for (const from of inOrder) {
      const given = from(name)
      if (given !== undefined) return given
    }
    return undefined
  }
  return {
    find,
    settled: name => find(name) ?? fallbacks[name],
    path: name => ifGiven(find(name), ({ text }) => resolve(text)),
    storage: () => {
      for (const from of inOrder) {
        const [data, url] = [from('data'), from('database-url')]
        if (data !== undefined && url !== undefined)
          throw new ConfigError(`${data.source} and ${url.source} both say where the vault is: leave one out`)
        if (data !== undefined) return { data }
        if (url !== undefined) return { 'database-url': url }
      }
      return {}
    },
  }
}

const fallbacks = Object.fromEntries(
  settings.flatMap(({ name, fallback }) =>
    fallback === undefined ? [] : [[name, { text: fallback, source: name }]],
  ),
) as Readonly<Record<SettledName, Given>>
