import { foreignCode } from '../domain/foreign-code.ts'

/** What is wrong with the settings, in one line; the process ends with exit code 2. */
export class ConfigError extends Error {}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'cannot be read by this user',
  EISDIR: 'is a folder',
}
/** Why a file named by the settings could not be read, worded to follow its name. */
export const unreadable = (error: unknown): string =>
  reasons[foreignCode(error)] ?? `cannot be read (${foreignCode(error)})`
