export type Migration = { readonly number: number; readonly name: string; readonly sql: string }

/** The schema version of storage, and whether this release needs a newer one. */
export type SchemaState = {
  readonly current: number
  readonly newest: number
  readonly pending: boolean
  /** Whether rows are spread over several servers, on engines that can do that. */
  readonly distributed?: boolean
}

/** Says that storage has another schema than this release. The text begins with the name of the storage; callers add what to do. */
export const schemaMismatch = (
  storage: string,
  { current, newest }: Pick<SchemaState, 'current' | 'newest'>,
): string =>
  `${storage} has schema ${current}, this release ${current < newest ? 'needs' : 'knows'} ${newest}`

/** How the schema in storage differs from the one that the migrations create. */
export type SchemaDifference = {
  /** Why the difference cannot be determined, and what to do about it. */
  readonly unknown?: { readonly problem: string; readonly byHand: string }
  /** Tables, columns, keys, indexes and code that storage lacks. */
  readonly missing: readonly string[]
  /** Parts that act on the vault's tables but that no migration creates: somebody with write access to storage planted them. */
  readonly foreign: readonly string[]
}
