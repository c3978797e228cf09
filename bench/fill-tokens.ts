import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Issue } from '../server/src/domain/errors.ts'
import { RequestCosts } from '../server/src/domain/tokens/request-costs.ts'
import { readDefinition, type TokenDefinition } from '../server/src/domain/tokens/token-definition.ts'
import { createMasterKeyFile } from '../server/src/keys/file/create-master-key-file.ts'
import { fileKeyProvider } from '../server/src/keys/file/file-key-provider.ts'
import { createTenant } from '../server/src/operations/tenants/create-tenant.ts'
import { createTokens } from '../server/src/operations/tokens/create-tokens.ts'
import { openVault } from '../server/src/operations/vault/open-vault.ts'
import type { Caller, Vault } from '../server/src/operations/vault/vault.ts'
import { openSqlite } from '../server/src/store/sqlite/sqlite-store.ts'
import { callerOf } from '../server/test/rig/caller-of.ts'
import { card } from './cards.ts'

export type FilledVault = {
  readonly vault: Vault
  readonly caller: Caller
  readonly tokens: number
  close(): Promise<void>
}

/** Each customer has this many tokens, spread over the whole period. */
const tokensPerCustomer = 20
const tokensPerBatch = 50
const batchesInFlight = 40
const startedAt = Date.parse('2026-03-01T00:00:00Z')

export const createdAt = (serial: number): number => startedAt + Math.floor(serial / tokensPerBatch)

/** An id like those the vault assigns (crypto/uuid.ts), but the same in every run. */
export const tokenId = (serial: number): string => {
  const time = createdAt(serial).toString(16).padStart(12, '0')
  const count = (serial % tokensPerBatch).toString(16).padStart(3, '0')
  const rest = createHash('sha256').update(String(serial)).digest('hex')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-8${rest.slice(0, 3)}-${rest.slice(3, 15)}`
}
export const customers = (tokens: number): number => tokens / tokensPerCustomer
/** Of ten customers, eight keep cards, all in one container, and two keep texts, each in a container of their own. */
export const keepsCards = (customer: number): boolean => customer % 10 < 8
export const regions = 7

const definitionOf = (serial: number, tokens: number): TokenDefinition => {
  const customer = serial % customers(tokens)
  const issues: Issue[] = []
  const definition = readDefinition(
    {
      ...(keepsCards(customer)
        ? card(serial)
        : {
            type: 'token',
            data: `text ${serial}`,
            containers: [`/customers/c${customer}/`],
            search_indexes: ['{{ data }}'],
          }),
      id: tokenId(serial),
      metadata: { customer: `c${customer}`, region: `r${serial % regions}` },
    },
    '',
    createdAt(serial),
    issues,
    new RequestCosts(null),
  )
  if (definition === undefined) throw new Error(JSON.stringify(issues))
  return definition
}

/** One tenant with this many tokens. A folder filled by an earlier run is used as it is. */
export const fillVault = async (folder: string, tokens: number): Promise<FilledVault> => {
  const keyFile = join(folder, 'filled-for.key')
  const isFilled = existsSync(keyFile)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (!isFilled) createMasterKeyFile(join(folder, 'master.key'))
  let now = createdAt(tokens)
  const vault = await openVault({
    store: openSqlite({ path: join(folder, 'vault.db') }),
    keyProvider: fileKeyProvider(join(folder, 'master.key')),
    clock: () => now,
  })
  const key = isFilled ? readFileSync(keyFile, 'utf8') : await newTenant(vault)
  const caller = await callerOf(vault, key)
  if (!isFilled) {
    await fill(vault, caller, tokens, serial => {
      now = createdAt(serial)
    })
    writeFileSync(keyFile, key, { mode: 0o600 })
  }
  now = createdAt(tokens)
  return { vault, caller, tokens, close: () => vault.store.close() }
}

const newTenant = async (vault: Vault): Promise<string> => {
  let key = ''
  await createTenant(vault, { name: 'Bench', applications: [everything] }, made => {
    key = made.keys.everything
  })
  return key
}

/** Uses the operation behind creates, without HTTP around it. */
const fill = async (
  vault: Vault,
  caller: Caller,
  tokens: number,
  moveClock: (serial: number) => void,
): Promise<void> => {
  for (let next = 0; next < tokens; ) {
    const batches: Promise<unknown>[] = []
    for (; batches.length < batchesInFlight && next < tokens; next += tokensPerBatch) {
      const definitions = Array.from({ length: tokensPerBatch }, (_, i) => definitionOf(next + i, tokens))
      moveClock(next)
      batches.push(createTokens(vault, caller, definitions, { show: () => null, answer: () => null }))
    }
    await Promise.all(batches)
    if (next % 1_000_000 === 0) process.stderr.write(`${next / 1_000_000} million tokens\n`)
  }
  await vault.store.shred()
}

const everything = {
  key: 'everything' as const,
  name: 'everything',
  type: 'private' as const,
  permissions: [],
  rules: [
    {
      priority: 1,
      container: '/',
      transform: 'reveal' as const,
      permissions: ['token:create', 'token:read', 'token:search'] as const,
    },
  ],
}
