import { configKey, type Setting, settings, variableName } from '../config/settings.ts'
import type { Command } from './command.ts'
import { asCalled } from './pasteable.ts'

/** What can be asked for beside commands: `strongroom help settings`. */
export const settingsTopic = 'settings'

export const overview = (listed: readonly Command[]): string =>
  asCalled(
    `Usage: strongroom <command>\n\n${columns(listed.map(({ name, summary }) => [name, summary]))}
For more: strongroom help <command>, strongroom help ${settingsTopic}. Exit codes: 0 done, 1 failed, 2 wrong usage or settings.\n`,
  )

export const usage = (command: Command): string => {
  const { options = {}, flags = {}, requires = [] } = command
  const rows = [
    ...Object.entries(options).map(([name, help]) => ({ name, written: `--${name} …`, help })),
    ...Object.entries(flags).map(([name, help]) => ({ name, written: `--${name}`, help })),
  ]
  const listed = (title: string, isListed: (name: string) => boolean): string => {
    const shown = rows.filter(({ name }) => isListed(name))
    return shown.length === 0
      ? ''
      : `\n${title}:\n${columns(shown.map(({ written, help }) => [written, help]))}`
  }
  return [
    `Usage: ${asCalled(`strongroom ${synopsis(command)}`)}\n\n${command.summary}.\n`,
    listed('Required', name => requires.includes(name)),
    listed('Options', name => !requires.includes(name)),
    command.notes === undefined ? '' : `\n${command.notes}\n`,
    `\nExample:\n  ${asCalled(`strongroom ${command.example}`)}\n`,
    `\nSettings that it uses (${asCalled(`strongroom help ${settingsTopic}`)} explains them):\n${settingNames(command)}`,
  ].join('')
}

/** `app list --tenant … [options]` */
const synopsis = ({ name, words = [], options = {}, flags = {}, requires = [] }: Command): string => {
  const needed = requires.map(option => (option in options ? `--${option} …` : `--${option}`))
  const isMore = Object.keys(options).length + Object.keys(flags).length > requires.length
  return [name, ...words, ...needed, ...(isMore ? ['[options]'] : [])].join(' ')
}

/** Secrets are named by their variable, because they are no flags. */
const settingNames = ({ reads }: Command): string => {
  const read: readonly string[] = reads
  const names = [...settings.filter(({ name }) => read.includes(name)), configFile].map(
    ({ name, isSecret }) => (isSecret ? variableName(name) : `--${name}`),
  )
  return wrapped(names)
}

const lineMax = 100

const wrapped = (words: readonly string[]): string => {
  const lines: string[] = []
  for (const word of words) {
    const line = lines.at(-1)
    if (line === undefined || line.length + word.length >= lineMax) lines.push(`  ${word}`)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return lines.map(line => `${line}\n`).join('')
}

export const settingsHelp = (): string =>
  `Every setting is a flag, a variable and a key of the config file. A flag wins over a variable, and a variable over the file.\n${[
    ...settings,
    configFile,
  ]
    .map(({ name, help, fallback, isSecret }) => {
      const names = [
        ...(isSecret ? [] : [`--${name}`]),
        variableName(name),
        ...(name === configFile.name ? [] : [configKey(name)]),
      ]
      return `\n  ${names.join(', ')}\n      ${help}${fallback === undefined ? '' : ` (${fallback})`}\n`
    })
    .join('')}`

const configFile: Setting = {
  name: 'config',
  help: 'JSON file with settings under names such as logLevel',
}

const columns = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([name]) => name.length)) + 2
  return rows.map(([name, text]) => `  ${name.padEnd(width)}${text}\n`).join('')
}
