export type Migration = { readonly number: number; readonly name: string; readonly sql: string }
