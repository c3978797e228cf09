import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readCursorQuery } from '../server/src/contract/finding/cursor-query.ts'
import { readListQuery } from '../server/src/contract/finding/list-query.ts'
import { sealCursor } from '../server/src/crypto/cursor.ts'
import { filterText } from '../server/src/domain/tokens/token-filter.ts'
import { listTokens } from '../server/src/operations/finding/list-tokens.ts'
import { listTokensByCursor } from '../server/src/operations/finding/list-tokens-by-cursor.ts'
import { searchTokens } from '../server/src/operations/finding/search-tokens.ts'
import {
  createdAt,
  customers,
  type FilledVault,
  fillVault,
  keepsCards,
  regions,
  tokenId,
} from './fill-tokens.ts'
import { median } from './statistics.ts'

/**
 * `npm run bench -- find`: what a page costs in a tenant of ten thousand tokens and in one of a million (or
 * BENCH_FIND_TOKENS). Operations are timed by themselves: HTTP costs the same at any size and would flatter the ratio.
 * Every round asks for different values, so that no page is warm from an earlier request.
 */
const small = 10_000
const large = Number(process.env.BENCH_FIND_TOKENS ?? 1_000_000)
const rounds = Number(process.env.BENCH_FIND_ROUNDS ?? 200)
const warmUpRounds = 100
const bar = 1.5

type Ask = (filled: FilledVault, round: number) => Promise<unknown>

const list = ({ vault, caller }: FilledVault, ...query: [string, string][]) =>
  listTokens(vault, caller, readListQuery(query.map(([name, value]) => ({ name, value }))))

const search = ({ vault, caller }: FilledVault, query: string) => searchTokens(vault, caller, { query })

/** The page that starts after `depth` tokens, newest first. */
const cursorPage = ({ vault, caller, tokens }: FilledVault, depth: number) => {
  const serial = tokens - depth
  const place = { createdAt: createdAt(serial), id: tokenId(serial) }
  const start = sealCursor(caller.keys, place, filterText({ metadata: [] }))
  return listTokensByCursor(
    vault,
    caller,
    readCursorQuery(depth === 0 ? [] : [{ name: 'start', value: start }]),
  )
}

/** A number less than `below`, unrelated to those of the neighbouring rounds. */
const scattered = (round: number, below: number): number => (round * 2_654_435_761) % below

const customerWho = (filled: FilledVault, round: number, isWanted: (customer: number) => boolean): number => {
  let customer = scattered(round, customers(filled.tokens))
  while (!isWanted(customer)) customer = (customer + 1) % customers(filled.tokens)
  return customer
}
const anyone = (): boolean => true
const keepsTexts = (customer: number): boolean => !keepsCards(customer)

const questions: Record<string, Ask> = {
  'offset list, page 1': filled => list(filled),
  'offset list by type, page 1': filled => list(filled, ['type', 'card']),
  'offset list by container, page 1': filled => list(filled, ['container', '/customers/']),
  'cursor, first page': filled => cursorPage(filled, 0),
  'cursor, 5,000 tokens deep': (filled, round) => cursorPage(filled, 5_000 + round),
  'cursor, half of all deep': (filled, round) => cursorPage(filled, filled.tokens / 2 + round),
  'list, two metadata keys, rare first': (filled, round) => {
    const customer = customerWho(filled, round, anyone)
    return list(filled, ['metadata.customer', `c${customer}`], ['metadata.region', `r${round % regions}`])
  },
  'list, two metadata keys, common first': (filled, round) => {
    const customer = customerWho(filled, round, anyone)
    return list(filled, ['metadata.region', `r${round % regions}`], ['metadata.customer', `c${customer}`])
  },
  'search, two metadata keys': (filled, round) => {
    const customer = customerWho(filled, round, anyone)
    return search(filled, `metadata.region:r${round % regions} AND metadata.customer:c${customer}`)
  },
  'list, 100 ids': (filled, round) =>
    list(
      filled,
      ...Array.from({ length: 100 }, (_, i): [string, string] => [
        'id',
        tokenId(scattered(round * 100 + i, filled.tokens)),
      ]),
      ['size', '100'],
    ),
  'search, data': (filled, round) => {
    const customer = customerWho(filled, round, keepsTexts)
    return search(filled, `data:"text ${customer}"`)
  },
  'search, a narrow container prefix': (filled, round) =>
    search(filled, `container:/customers/c${customerWho(filled, round, keepsTexts)}/*`),
  'search, a millisecond of created_at': (filled, round) => {
    const at = createdAt(scattered(round, filled.tokens))
    return search(filled, `created_at:"${new Date(at).toISOString()}"`)
  },
  'search, a wide container prefix': filled => search(filled, 'container:/customers/*'),
}

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const started = performance.now()
  await work()
  return performance.now() - started
}

/** Median milliseconds. Both vaults are asked in turns, so that other load on the machine affects both. */
const compare = async (
  few: FilledVault,
  many: FilledVault,
  ask: Ask,
): Promise<[few: number, many: number]> => {
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    times[0].push(await timed(() => ask(few, round)))
    times[1].push(await timed(() => ask(many, round)))
  }
  return [median(times[0]), median(times[1])]
}

export const benchFind = async (): Promise<void> => {
  // A folder given by name is kept, so the next run finds it filled.
  const kept = process.env.BENCH_FIND_FOLDER
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'strongroom-find-'))
  try {
    const few = await fillVault(join(folder, String(small)), small)
    const started = performance.now()
    const many = await fillVault(join(folder, String(large)), large)
    const seconds = (performance.now() - started) / 1_000
    const bytes = statSync(join(folder, String(large), 'vault.db')).size
    console.log(
      `${large} tokens: ${seconds.toFixed(0)} s to fill, ${Math.round(bytes / large)} bytes each on disk`,
    )
    const rows: Record<string, Record<string, string>> = {}
    // Untimed, with other values: compiles the code, prepares the statements and fills the caches, the small vault's
    // with all of its pages, the large one's with pages that are not asked for again.
    for (const ask of Object.values(questions))
      for (let round = rounds; round < rounds + warmUpRounds; round++)
        for (const filled of [few, many]) await ask(filled, round)
    for (const [name, ask] of Object.entries(questions)) {
      const [atFew, atMany] = await compare(few, many, ask)
      const ratio = atMany / atFew
      rows[name] = {
        [`ms at ${small}`]: atFew.toFixed(2),
        [`ms at ${large}`]: atMany.toFixed(2),
        ratio: ratio.toFixed(2),
        bar: ratio <= bar ? 'met' : 'MISSED',
      }
    }
    console.table(rows)
    await Promise.all([few.close(), many.close()])
  } finally {
    if (kept === undefined) rmSync(folder, { recursive: true, force: true })
  }
}
