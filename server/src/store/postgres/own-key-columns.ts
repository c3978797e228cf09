/** Columns that are part of a table's key in PostgreSQL alone: each counter is spread over several rows there. */
export const ownKeyColumns: Readonly<Record<string, readonly string[]>> = { counters: ['shard'] }
