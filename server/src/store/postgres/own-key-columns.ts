/** Columns that are part of a table's key only in PostgreSQL, where each counter is spread over several rows. */
export const ownKeyColumns: Readonly<Record<string, readonly string[]>> = { counters: ['shard'] }
