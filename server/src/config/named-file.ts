import { readFileSync } from 'node:fs'
import { ConfigError, unreadable } from './config-error.ts'

/** The text of a file that a setting or an option names. */
export const readNamedFile = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`${path} ${unreadable(error)}`)
  }
}
