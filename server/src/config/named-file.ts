import { readFileSync, statSync } from 'node:fs'
import { ConfigError, unreadable } from './config-error.ts'

/** The text of a file that a setting or an option names. */
export const readNamedFile = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`${path} ${unreadable(error)}`)
  }
}

/** Whether anybody but its owner may use a file or folder. A link that leads nowhere shows nothing to anybody. */
export const isOpenToOthers = (path: string): boolean =>
  ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0
