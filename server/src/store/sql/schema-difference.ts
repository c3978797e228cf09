/** How the schema in storage differs from the one that the migrations create. */
export type SchemaDifference = {
  /** What keeps storage from telling what it lacks, and what to do about it. */
  readonly unknown?: { readonly problem: string; readonly byHand: string }
  /** Tables, columns, keys, indexes and code that storage lacks. */
  readonly missing: readonly string[]
  /** What acts on the vault's tables and is not what the migrations create: planted by whoever wrote to storage. */
  readonly foreign: readonly string[]
}
