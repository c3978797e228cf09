import { type DatabaseAddress, DatabaseUrlError, parseDatabaseUrl } from '../store/postgres/database-url.ts'
import { ConfigError } from './config-error.ts'
import type { Given } from './given.ts'
import { variableName } from './settings.ts'

export type DatabaseConfig = {
  readonly address: DatabaseAddress
  readonly passwordFile: string | undefined
  readonly caFile: string | undefined
  readonly poolSize: number
  readonly statementTimeoutMs: number
}

export const readDatabase = (
  url: Given | undefined,
  rest: Omit<DatabaseConfig, 'address'>,
): DatabaseConfig | undefined => {
  if (url === undefined) return undefined
  let address: DatabaseAddress
  try {
    address = parseDatabaseUrl(url.text, { hasCa: rest.caFile !== undefined })
  } catch (error) {
    if (error instanceof DatabaseUrlError) throw new ConfigError(`${url.source} ${error.message}`)
    throw error
  }
  if (address.password !== undefined && url.source.startsWith('--'))
    throw new ConfigError(
      `${url.source} holds a password, which others could read: set ${variableName('database-url')} or ${variableName('database-password-file')}`,
    )
  return { address, ...rest }
}
