import pg from 'pg'

/** The servers of a Citus cluster, coordinator first. If set, suites run on that cluster alone. */
export const citusVariable = 'STRONGROOM_TEST_CITUS_URLS'

export const citusServers: readonly string[] = (process.env[citusVariable] ?? '').split(',').filter(Boolean)

/** Joins databases of the same name, one on each server, into one cluster. */
export const joinNodes = async (databases: readonly string[]): Promise<void> => {
  for (const url of databases) await run(url, ['CREATE EXTENSION citus'])
  const [coordinator = '', ...workers] = databases
  await run(coordinator, [
    `SELECT citus_set_coordinator_host(${placeOf(coordinator)})`,
    ...workers.map(worker => `SELECT citus_add_node(${placeOf(worker)})`),
  ])
}

const placeOf = (url: string): string => {
  const { hostname, port } = new URL(url)
  return `'${hostname}', ${port}`
}

const run = async (url: string, statements: readonly string[]): Promise<void> => {
  const client = new pg.Client(url)
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}
