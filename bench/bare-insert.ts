import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { createMasterKeyFile } from '../server/src/keys/file/create-master-key-file.ts'
import { fileKeyProvider } from '../server/src/keys/file/file-key-provider.ts'
import { createTenant } from '../server/src/operations/tenants/create-tenant.ts'
import { tokenize } from '../server/src/operations/tokens/tokenize.ts'
import { openVault } from '../server/src/operations/vault/open-vault.ts'
import { tokenValues } from '../server/src/store/columns.ts'
import { openSqlite } from '../server/src/store/sqlite/sqlite-store.ts'
import type { WriteSet } from '../server/src/store/write-set.ts'
import { callerOf } from '../server/test/rig/caller-of.ts'
import type { Round } from './statistics.ts'

/**
 * The yardstick for tokenize: what it leads to, each row in its place at once, by a plain loop, one
 * transaction per request, as durably as the vault does. One round is this many transactions.
 */
const transactionsPerRound = 20

/** Runs the rounds in one separate process, which is kept for all of them. */
export const startBareInsert = async (
  values: number,
): Promise<{ round(): Promise<Round>; stop(): Promise<void> }> => {
  const child = spawn(process.execPath, [import.meta.filename, String(values)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const round = async (): Promise<Round> => {
    child.stdin.write('\n')
    return JSON.parse((await lines.next()).value ?? '{}')
  }
  await round()
  return {
    round,
    stop: async () => {
      child.stdin.end()
      await once(child, 'exit')
    },
  }
}

/** Captures the write sets of one round of tokenize requests without committing them. */
const captureSets = async (folder: string, values: number): Promise<() => Promise<WriteSet[]>> => {
  createMasterKeyFile(join(folder, 'master.key'))
  const store = openSqlite({ path: join(folder, 'vault.db'), writing: 'inline' })
  const vault = await openVault({
    store,
    keyProvider: fileKeyProvider(join(folder, 'master.key')),
    clock: Date.now,
  })
  const application = { key: 'all' as const, name: 'all', type: 'private' as const, rules: [] }
  const { keys } = await createTenant(vault, {
    name: 'Bench',
    applications: [{ ...application, permissions: ['token:create'] }],
  })
  const caller = await callerOf(vault, keys.all)
  let serial = 0
  return async () => {
    const sets: WriteSet[] = []
    const commit = async (set: WriteSet) => {
      sets.push(set)
      return { committed: true } as const
    }
    const keeping = { ...vault, store: { ...store, commit } }
    for (let i = 0; i < transactionsPerRound; i++)
      await tokenize(
        keeping,
        caller,
        Array.from({ length: values }, () => `value ${serial++}`),
      )
    if (sets.length !== transactionsPerRound) throw new Error('the write sets were not captured')
    return sets
  }
}

const insertAll = (database: DatabaseSync): ((sets: readonly WriteSet[]) => void) => {
  const insertToken = database.prepare('INSERT INTO tokens VALUES (?,?,?,?,?,?,?,?,?,?,?,?)')
  const insertTerm = database.prepare('INSERT INTO terms VALUES (?,?,?,?,?,?,?)')
  const move = database.prepare(
    'INSERT INTO counters VALUES (?,?,?,?) ON CONFLICT DO UPDATE SET value = value + excluded.value',
  )
  return sets => {
    for (const { tenant, guarded, effects, counters } of sets) {
      database.exec('BEGIN IMMEDIATE')
      for (const change of guarded)
        if (change.kind === 'insertToken') insertToken.run(...tokenValues(tenant, change.row))
      for (const effect of effects)
        if (effect.kind === 'addTerms')
          for (const { term, tag } of effect.terms) {
            const { createdAt, tokenId, expiresAt, signature } = effect.of
            insertTerm.run(tenant, term, createdAt, tokenId, expiresAt, tag, signature)
          }
      const sums = new Map<string, number>()
      for (const { name, by } of counters) sums.set(name, (sums.get(name) ?? 0) + by)
      for (const [name, by] of sums) move.run(tenant, name, by, null)
      database.exec('COMMIT')
    }
  }
}

if (import.meta.main) {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-bare-'))
  const capture = await captureSets(folder, Number(process.argv[2]))
  const database = new DatabaseSync(join(folder, 'vault.db'))
  database.exec('PRAGMA synchronous = FULL; PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 8000')
  const insert = insertAll(database)
  for await (const _line of createInterface({ input: process.stdin })) {
    const sets = await capture()
    const before = process.cpuUsage()
    const started = performance.now()
    insert(sets)
    const seconds = (performance.now() - started) / 1_000
    const { user, system } = process.cpuUsage(before)
    const perSecond = sets.length / seconds
    const answer: Round = {
      perSecond,
      cpuMicroseconds: (user + system) / sets.length,
      p50: 1_000 / perSecond,
      p99: 1_000 / perSecond,
      p999: 1_000 / perSecond,
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`)
  }
  rmSync(folder, { recursive: true, force: true })
}
