import type { WriteSet } from './write-set.ts'

/** So many sealed bytes take as long to store as a row does. */
const bytesPerRow = 1_024

/**
 * How much work a set is for storage, in rows: those that it leads to, with its bytes counted as rows. On the embedded engine a row
 * takes 8 to 25 µs of the thread that writes, more in a large vault (docs/decisions/0022).
 */
export const weightOf = ({ guarded, effects, counters }: WriteSet): number => {
  let rows = 1 + guarded.length + counters.length
  let bytes = 0
  for (const change of guarded) if ('row' in change) bytes += bytesIn(change.row)
  for (const effect of effects) {
    if ('terms' in effect) rows += effect.terms.length
    else if ('ids' in effect) rows += effect.ids.length
    else rows++
    if ('row' in effect) bytes += bytesIn(effect.row)
    else if ('sealed' in effect) bytes += effect.sealed.length
  }
  // A value that has no length is for the engine to refuse.
  return bytes > 0 ? rows + Math.floor(bytes / bytesPerRow) : rows
}

const bytesIn = (row: { readonly sealed: Uint8Array } | { readonly wrapped: Uint8Array }): number =>
  'sealed' in row ? row.sealed.length : row.wrapped.length
