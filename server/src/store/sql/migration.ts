export type Migration = { readonly number: number; readonly name: string; readonly sql: string }

/** The schema version of storage, and whether this release needs a newer one. */
export type SchemaState = {
  readonly current: number
  readonly newest: number
  readonly pending: boolean
  /** Whether rows are spread over several servers, on engines that can do that. */
  readonly distributed?: boolean
}

/** That storage has another schema than this release, in words that begin with its name; callers add what to do about it. */
export const schemaMismatch = (
  storage: string,
  { current, newest }: Pick<SchemaState, 'current' | 'newest'>,
): string =>
  `${storage} has schema ${current}, this release ${current < newest ? 'needs' : 'knows'} ${newest}`

/** How the schema in storage differs from the one that the migrations create. */
export type SchemaDifference = {
  /** What keeps storage from telling what it lacks, and what to do about it. */
  readonly unknown?: { readonly problem: string; readonly byHand: string }
  /** Tables, columns, keys, indexes and code that storage lacks. */
  readonly missing: readonly string[]
  /** What acts on the vault's tables and is not what the migrations create: planted by whoever wrote to storage. */
  readonly foreign: readonly string[]
}
