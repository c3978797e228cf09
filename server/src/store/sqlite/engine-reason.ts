import { placeOf } from '../../domain/log.ts'
import { StoreUnavailableError } from '../port.ts'

/** The reason, in our words or from the engine's fixed table of messages. It contains nothing of a statement or its values. */
export const engineReason = (error: unknown): string => {
  if (error instanceof StoreUnavailableError) return error.outage
  return error instanceof Error && 'errstr' in error && 'errcode' in error
    ? `${error.errstr} (SQLite ${error.errcode})`
    : `not the engine's failure: ${placeOf(error)}`
}

export const unwritable = (outage: string): StoreUnavailableError =>
  new StoreUnavailableError('storage cannot be written', { outage })
