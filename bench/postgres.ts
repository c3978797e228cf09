import { randomBytes, randomInt, randomUUIDv7 } from 'node:crypto'
import pg from 'pg'
import { startCluster } from '../server/test/rig/postgres-cluster.ts'
import { loadServed, startServed } from './served.ts'
import { rounds, seconds } from './settings.ts'
import { median, spread } from './statistics.ts'

/** The vault's default number of connections. */
const connections = 10
/** Its home and its fingerprint. */
const termsPerCard = 2

/**
 * `postgres`: single creates on PostgreSQL, durable, compared with a bare client that inserts as many rows of the same
 * sizes into the same tables over as many connections: a transaction per token, and the token's row alone.
 */
export const benchPostgres = async (): Promise<void> => {
  const cluster = await startCluster({ fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB' })
  try {
    const vault = await startServed(1, cluster.url)
    const clients = Array.from({ length: connections }, () => new pg.Client(cluster.url))
    await Promise.all(clients.map(client => client.connect()))
    const rates: Record<'vault' | 'whole' | 'row', number[]> = { vault: [], whole: [], row: [] }
    await loadServed(vault, 'create')
    for (let round = 0; round < rounds; round++) {
      const { requests, seconds: took } = await loadServed(vault, 'create')
      rates.vault.push(requests / took)
      rates.whole.push(await insertTokens(clients, insertWhole))
      rates.row.push(await insertTokens(clients, insertRow))
    }
    const ratio = (other: readonly number[]): string =>
      median(rates.vault.map((rate, round) => rate / (other[round] ?? 1))).toFixed(2)
    console.table([
      {
        what: 'the vault, over HTTP',
        'creates/s': median(rates.vault).toFixed(0),
        spread: spread(rates.vault),
      },
      {
        what: 'bare client: token and terms in a transaction',
        'creates/s': median(rates.whole).toFixed(0),
        spread: spread(rates.whole),
        'vault / this': ratio(rates.whole),
      },
      {
        what: 'bare client: the row of the token alone',
        'creates/s': median(rates.row).toFixed(0),
        spread: spread(rates.row),
        'vault / this': ratio(rates.row),
      },
    ])
    await Promise.all(clients.map(client => client.end()))
    await vault.stop()
  } finally {
    await cluster.stop()
  }
}

type Insert = (client: pg.Client, id: string) => Promise<unknown>

/** Not one of the vault's tenants: its rows are stored among those of the load. */
const tenant = 1_000_000

const insertRow: Insert = (client, id) =>
  client.query({
    name: 'token',
    text: `INSERT INTO tokens (tenant, token_id, type, version, created_at, created_by, active_month, sealed)
      VALUES ($1, $2, 'card', 1, $3, $4, 202611, $5)`,
    values: [tenant, id, Date.now(), id, randomBytes(165)],
  })

const insertWhole: Insert = async (client, id) => {
  await client.query('BEGIN')
  await insertRow(client, id)
  for (let term = 0; term < termsPerCard; term++)
    await client.query({
      name: 'term',
      text: 'INSERT INTO terms (tenant, term, created_at, token_id, signature) VALUES ($1, $2, $3, $4, $5)',
      values: [tenant, randomBytes(12), Date.now(), id, randomInt(2 ** 31)],
    })
  await client.query('COMMIT')
}

/** Tokens per second. */
const insertTokens = async (clients: readonly pg.Client[], insert: Insert): Promise<number> => {
  const started = performance.now()
  const end = started + seconds * 1_000
  let made = 0
  await Promise.all(
    clients.map(async client => {
      for (; performance.now() < end; made++) await insert(client, randomUUIDv7())
    }),
  )
  return made / ((performance.now() - started) / 1_000)
}
