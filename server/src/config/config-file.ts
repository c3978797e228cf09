import { readFileSync } from 'node:fs'
import { faultPlace } from '../domain/json/fault-place.ts'
import { didYouMean } from '../domain/text/did-you-mean.ts'
import { shellWord } from '../domain/text/terminal.ts'
import { ConfigError, unreadable } from './config-error.ts'
import type { Given } from './given.ts'
import { isOpenToOthers } from './named-file.ts'
import { configKey, settings } from './settings.ts'

export const readConfigFile = (path: string | undefined): ReadonlyMap<string, Given> => {
  if (path === undefined) return new Map()
  const fault = (text: string): ConfigError => new ConfigError(`the config file ${path} ${text}`)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw fault(unreadable(error))
  }
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (error) {
    // Says where, and no more: the file may hold the master key.
    throw fault(`is not JSON${faultPlace(text, error)}`)
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw fault('must hold a JSON object')
  const names = new Map(settings.map(({ name }) => [configKey(name), name]))
  const given = new Map<string, Given>()
  for (const [key, value] of Object.entries(content)) {
    const name = names.get(key)
    if (name === undefined) throw fault(`has an unknown setting: ${key}${didYouMean(key, [...names.keys()])}`)
    const asGiven = asText(name, value)
    if (!['string', 'number', 'boolean'].includes(typeof asGiven))
      throw fault(`must set ${key} to text, a number, true or false`)
    // As with a flag: an empty host would mean all interfaces, an empty path the current folder.
    if (value === '') throw fault(`leaves ${key} empty`)
    given.set(name, { text: String(asGiven), source: `${key} in ${path}` })
  }
  // The same rule as for a file that holds only the master key.
  const isOpen = isOpenToOthers(path)
  if (given.has('master-key') && isOpen)
    throw fault(`holds the master key and is open to others: run chmod 600 ${shellWord(path)}`)
  if (/:[^/@]*@/.test(given.get('database-url')?.text ?? '') && isOpen)
    throw fault(`holds the password of the database and is open to others: run chmod 600 ${shellWord(path)}`)
  return given
}

/** Turns lists and objects into the text that a flag would have. */
const asText = (name: string, value: unknown): unknown => {
  if (name === 'cors-origins' && Array.isArray(value)) return value.join(',')
  if (name !== 'limits' || typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .map(pair => pair.join('='))
    .join(',')
}
