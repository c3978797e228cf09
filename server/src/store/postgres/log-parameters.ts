import type { LogPart } from '../write-set.ts'
import { integer } from './json-values.ts'

/** The fault lies with the records or their keys. The sets beside them may succeed. */
export class UnsealedError extends Error {}

/**
 * What sets of one tenant add to its log, sealed as one block, as parameters of the functions (migrations/functions.ts): how many
 * records there are, the times between which they were made, and the bytes. Sets that are tried again are sealed again.
 */
export const sealedLog = (logs: readonly (LogPart | null)[]): (number | Uint8Array | null)[] => {
  const [first, ...others] = logs.filter(log => log !== null)
  if (first === undefined) return [null, null, null, null]
  try {
    const { firstAt, lastAt, sealed } = first.sealWith(others)
    const records = others.reduce((sum, log) => sum + log.records, first.records)
    return [integer(records), integer(firstAt), integer(lastAt), sealed]
  } catch (error) {
    throw new UnsealedError('the log cannot be sealed', { cause: error })
  }
}
