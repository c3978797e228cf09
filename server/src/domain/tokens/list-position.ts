import { TamperedError } from '../errors.ts'
import type { Instant } from '../time/instant.ts'

/** The place of a token in a list. */
export type ListPosition = { readonly createdAt: Instant; readonly id: string }

/** Newest first, ties by id as engines compare text: byte by byte. */
export const inListOrder = (a: ListPosition, b: ListPosition): number =>
  b.createdAt - a.createdAt || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id))

/**
 * For who goes through a list from position to position: entries of an index that were changed could lead back to where one
 * came from, again and again.
 */
export const requireProgress = (from: ListPosition | undefined, to: ListPosition): void => {
  if (from !== undefined && inListOrder(from, to) >= 0)
    throw new TamperedError({ kind: 'the index entry of token', id: to.id })
}
