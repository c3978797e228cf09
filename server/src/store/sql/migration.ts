export type Migration = { readonly number: number; readonly name: string; readonly sql: string }

/** How far storage is, and whether this release wants it further. */
export type SchemaState = {
  readonly current: number
  readonly newest: number
  readonly pending: boolean
  /** Whether rows are spread over several servers, where an engine can do that. */
  readonly distributed?: boolean
}
