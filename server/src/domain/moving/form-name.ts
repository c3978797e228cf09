/** What a file of tokens may look like, and what may separate cells. Apart from what reads them, because every command loads the list. */
export const formNames = ['ndjson', 'csv', 'basis-theory', 'vault-kv'] as const
export type FormName = (typeof formNames)[number]
export const separatorNames = ['comma', 'semicolon', 'pipe', 'tab'] as const
export type SeparatorName = (typeof separatorNames)[number]
