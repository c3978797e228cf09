import { foreignCode } from '../domain/errors.ts'

/** What is wrong with the settings, in one line; the process ends with exit code 2. */
export class ConfigError extends Error {}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'is not there',
  EACCES: 'cannot be read: this user may not',
  EISDIR: 'is a folder',
}
/** Why a file that the settings name could not be read, to stand behind its name. */
export const unreadable = (error: unknown): string =>
  reasons[foreignCode(error)] ?? `cannot be read (${foreignCode(error)})`
