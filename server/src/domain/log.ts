import { foreignCode, rowLogName, TamperedError } from './errors.ts'

/** The part of a logger that the wire and the clockwork need. */
export type Log = {
  /** False: debug lines are not written, so none needs to be made. */
  readonly isDebug: boolean
  error(fields: Record<string, unknown>, message: string): void
  info(fields: Record<string, unknown>, message: string): void
  debug(fields: Record<string, unknown>, message: string): void
}

/**
 * An error for the log: where it happened, never what it says. Messages of the runtime quote their input
 * ("Unexpected token … in JSON"), and the input is what this vault exists to keep (C2).
 */
export const describeError = (error: unknown): Record<string, unknown> => ({
  error: error instanceof Error ? error.name : typeof error,
  ...(foreignCode(error) !== '' && { code: foreignCode(error) }),
  ...(error instanceof TamperedError && { row: rowLogName(error.row) }),
  ...(isOutage(error) ? describeOutage(error) : describePlace(error)),
})

/** Storage is to blame, and the place where our code noticed its failure says nothing. */
const isOutage = (error: unknown): error is Error & { outage: string } =>
  error instanceof Error && 'outage' in error && typeof error.outage === 'string'

const describeOutage = ({ outage, cause }: Error & { outage: string }): Record<string, unknown> => ({
  reason: outage,
  ...(innerCode(cause) !== '' && { code: innerCode(cause) }),
})

const innerCode = (error: unknown): string =>
  foreignCode(error) || (error instanceof Error && error.cause !== undefined ? innerCode(error.cause) : '')

const describePlace = (error: unknown): Record<string, unknown> => ({
  ...(error instanceof Error && {
    stack: (error.stack ?? '')
      .split('\n')
      .filter(line => line.trimStart().startsWith('at '))
      .slice(0, 12)
      .map(line => line.trim()),
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  }),
})
