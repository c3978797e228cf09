import { foreignCode } from './foreign-code.ts'
import { rowLogName, TamperedError } from './tampered-error.ts'

/** The part of a logger that HTTP and the job timer need. */
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

const describeOutage = ({ outage, cause }: Error & { outage: string }): Record<string, unknown> => {
  const code = innerCode(cause)
  if (code !== '') return { reason: outage, code }
  // Without a code of the engine or the driver it may be a bug of ours.
  return { reason: outage, ...(cause !== undefined && { cause: describeError(cause) }) }
}

const innerCode = (error: unknown): string =>
  foreignCode(error) || (error instanceof Error && error.cause !== undefined ? innerCode(error.cause) : '')

const describePlace = (error: unknown): Record<string, unknown> => ({
  ...(error instanceof Error && {
    stack: framesOf(error).slice(0, 12),
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  }),
})

/** The kind of an error and the line that threw it, for places that have room for one text. */
export const placeOf = (error: unknown): string =>
  error instanceof Error ? `${error.name} ${framesOf(error)[0] ?? ''}`.trimEnd() : typeof error

/** Without the message in front, whose lines might look like frames; none where that cannot be told from the rest. */
const framesOf = ({ stack = '', message }: Error): string[] => {
  const start = stack.indexOf(message)
  if (start < 0) return []
  return stack
    .slice(start + message.length)
    .split('\n')
    .map(line => line.trim())
    .filter(line => line.startsWith('at '))
}
