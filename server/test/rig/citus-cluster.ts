import pg from 'pg'

/** The servers of a Citus cluster, coordinator first. If set, suites run on that cluster alone. */
export const citusVariable = 'STRONGROOM_TEST_CITUS_URLS'

export const citusServers: readonly string[] = (process.env[citusVariable] ?? '').split(',').filter(Boolean)

/** Joins databases of the same name, one on each server, into one cluster. */
export const joinNodes = async (databases: readonly string[]): Promise<void> => {
  for (const url of databases) await queryAt(url, 'CREATE EXTENSION citus')
  const [coordinator = '', ...workers] = databases
  await queryAt(coordinator, `SELECT citus_set_coordinator_host(${placeInSql(coordinator)})`)
  for (const worker of workers) await queryAt(coordinator, `SELECT citus_add_node(${placeInSql(worker)})`)
}

export const placeInSql = (url: string): string => {
  const { hostname, port } = new URL(url)
  return `'${hostname}', ${port}`
}

export const queryAt = async (
  url: string,
  sql: string,
  values?: readonly unknown[],
): Promise<Record<string, unknown>[]> => {
  const client = new pg.Client(url)
  // A server that is killed meanwhile is the caller's business, who gets no answer.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query(sql, values && [...values])).rows
  } finally {
    await client.end().catch(() => undefined)
  }
}
