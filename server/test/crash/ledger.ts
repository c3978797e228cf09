import type { Books } from './books.ts'
import { EventBooks } from './check-events.ts'
import type { Write } from './writes.ts'

/** An answered write with an idempotency key. Repeated, it must get the same answer and do nothing. */
export type Answered = { readonly write: Write; readonly id: unknown; readonly clockMs: number }

/** What the writers know, across the deaths of the vault. */
export class Ledger {
  readonly books: Books
  /** Writes with an idempotency key whose answers were lost, by writer. */
  readonly open = new Map<string, Write[]>()
  readonly answered = new Map<string, Answered>()
  readonly secrets = new Map<string, string>()
  readonly counts = { answered: 0, lost: 0, repeated: 0, revealed: 0, charged: 0 }
  /** Ids of records that must be in the log, and have not been looked for yet. */
  readonly receipts = new Set<string>()
  /** How far the log was read. */
  readonly log: { cursor: string | undefined; readonly next: Map<string, number> } = {
    cursor: undefined,
    next: new Map(),
  }

  /** How often each token was said to be on its way to the partner, as the log has it. */
  readonly sendings = new Map<string, number>()
  /** What events have told. */
  readonly events = new EventBooks()

  constructor(books: Books) {
    this.books = books
  }

  /** Whether no write that is still to be repeated depends on the thing. */
  isFree = (name: string): boolean =>
    ![...this.open.values()].flat().some(({ names, needs = [] }) => [...names, ...needs].includes(name))
}
