import { foreignCode } from '../../domain/errors.ts'
import { StoreUnavailableError } from '../port.ts'

/** A condition of some set of a batch failed; raised by apply_or_abort. */
export const conditionFailed = 'SR001'

/** The statement behind one that failed in the same transaction. */
export const transactionAborted = '25P02'

/** PostgreSQL gave up one of two transactions that stood in each other's way; nothing of it happened. */
export const isWorthRepeating = (error: unknown): boolean =>
  ['40001', '40P01', '55P03'].includes(foreignCode(error))

/** The server answered with an error: the transaction is over and has left nothing. */
export const isAnswered = (error: unknown): boolean => /^[0-9A-Z]{5}$/.test(foreignCode(error))

/**
 * The data of a statement is at fault, or storage's state is, but not the connection or the server's health:
 * others of the same batch may do better alone.
 */
export const isOwnFault = (error: unknown): boolean => /^(2[1-3]|42|54|P0)/.test(foreignCode(error))

/**
 * The connection is of no use any more: it was lost, the server is going down, it has become a standby (25006) and
 * the primary is to be looked for anew, or it has forgotten what was prepared (26000).
 */
export const endsConnection = (error: unknown): boolean =>
  !isAnswered(error) || /^(08|57P|25006|26000)/.test(foreignCode(error))

/** The code of an answer is logged beside these words. */
export const unavailable = (message: string, cause: unknown): StoreUnavailableError => {
  if (cause instanceof StoreUnavailableError) return cause
  return new StoreUnavailableError(message, {
    cause,
    ...(isAnswered(cause) && { outage: 'storage refused it' }),
  })
}
