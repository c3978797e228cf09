export type Migration = { readonly number: number; readonly name: string; readonly sql: string }

/** Which schema storage has, and whether this release needs a newer one. */
export type SchemaState = {
  readonly current: number
  readonly newest: number
  readonly pending: boolean
  /** Whether rows are spread over several servers, where an engine can do that. */
  readonly distributed?: boolean
}
