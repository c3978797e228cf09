import { rowLogName, type TamperedError } from '../../domain/tampered-error.ts'

/** Rows that do not open: how many, and the names of the first few. */
export type Unreadable = { readonly unreadable: number; readonly unreadableNames: readonly string[] }

/** Enough to find the rows. Every run reports them until an operator has dealt with them. */
const namesMax = 10

/** Collects the rows that a run over many rows had to leave alone. */
export class UnreadableRows {
  #count = 0
  readonly #names: string[] = []

  note({ row }: TamperedError): void {
    if (++this.#count <= namesMax) this.#names.push(rowLogName(row))
  }

  get summary(): Unreadable {
    return { unreadable: this.#count, unreadableNames: this.#names }
  }
}
