import { foreignCode } from '../../domain/foreign-code.ts'
import { StoreUnavailableError } from '../port.ts'

/** A condition failed in some set of a batch; raised by apply_or_abort. */
export const conditionFailed = 'SR001'

/** The code of a statement that follows a failed one in the same transaction. */
export const transactionAborted = '25P02'

/** PostgreSQL aborted one of two conflicting transactions. It had no effect. */
export const isWorthRepeating = (error: unknown): boolean =>
  ['40001', '40P01', '55P03'].includes(foreignCode(error))

/**
 * A statement took too long, most likely because another session, such as an operator's, has locked a row. Its transaction had no
 * effect.
 */
export const waitedTooLong = (error: unknown): boolean => ['57014', '55P03'].includes(foreignCode(error))

/** The server answered with an error: the transaction is over and left nothing behind. */
const isAnswered = (error: unknown): boolean => /^[0-9A-Z]{5}$/.test(foreignCode(error))

/**
 * The fault lies with a statement's data or the state of storage, not with the connection or the server's health: other
 * sets of the same batch may succeed alone. The same holds if this process could not build the statement (`RangeError`).
 */
export const isOwnFault = (error: unknown): boolean =>
  error instanceof RangeError || /^(2[1-3]|42|54|P0)/.test(foreignCode(error))

/**
 * The connection is of no further use: it was lost, the server is going down, it has become a standby (25006) and the
 * primary must be found again, or it has forgotten prepared statements (26000).
 */
export const endsConnection = (error: unknown): boolean =>
  !isAnswered(error) || /^(08|57P|25006|26000)/.test(foreignCode(error))

/** If the server answered, its code is logged next to these words. */
export const unavailable = (message: string, cause: unknown): StoreUnavailableError => {
  if (cause instanceof StoreUnavailableError) return cause
  return new StoreUnavailableError(message, {
    cause,
    ...(isAnswered(cause) && { outage: 'storage refused it' }),
  })
}
