import { TamperedError } from '../tampered-error.ts'
import type { Instant } from '../time/instant.ts'

/** The place of a token in a list. */
export type ListPosition = { readonly createdAt: Instant; readonly id: string }

/** Newest first, ties by id, compared byte by byte as the engines compare text. */
export const inListOrder = (a: ListPosition, b: ListPosition): number =>
  b.createdAt - a.createdAt || Buffer.compare(Buffer.from(a.id), Buffer.from(b.id))

/**
 * For a walk through a list from position to position: tampered index entries could lead it back to where it came from,
 * again and again.
 */
export const requireProgress = (from: ListPosition | undefined, to: ListPosition): void => {
  if (from !== undefined && inListOrder(from, to) >= 0)
    throw new TamperedError({ kind: 'the index entry of token', id: to.id })
}
