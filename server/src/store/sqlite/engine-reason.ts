import { placeOf } from '../../domain/log.ts'
import { StoreUnavailableError } from '../port.ts'

/** What is the matter, in our own words or in those of the engine's table: nothing of a statement or of its values. */
export const engineReason = (error: unknown): string => {
  if (error instanceof StoreUnavailableError) return error.outage
  return error instanceof Error && 'errstr' in error && 'errcode' in error
    ? `${error.errstr} (SQLite ${error.errcode})`
    : `not the engine's failure: ${placeOf(error)}`
}

export const unwritable = (outage: string): StoreUnavailableError =>
  new StoreUnavailableError('storage cannot be written', { outage })
