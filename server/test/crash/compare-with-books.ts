import assert from 'node:assert/strict'
import { closedAfterMs } from './carry-out.ts'
import type { Ledger } from './ledger.ts'
import { applicationState, keyNumber, tenantState, tokenState } from './parts-of-a-write.ts'
import { askOnce, type Body, read, type Target } from './target.ts'

/** Everything that the vault says about its contents must agree with the books. */
export const compareWithBooks = async (target: Target, ledger: Ledger): Promise<void> => {
  const { books } = ledger
  const seen = new Map<string, number>()
  const note = (name: string, n: number): void => {
    assert.ok(!seen.has(name), `${name} is there twice`)
    seen.set(name, n)
  }
  const tokens = await all(target, '/tokens', 'private_api_key')
  for (const token of tokens) note(token.metadata.tag, tokenState(token, target.clockMs))
  const applications = await readApplications(target, note)
  const tenant = tenantState(await read(target, '/tenants/self', 'management_api_key'))
  if (tenant !== undefined) note('tenant', tenant)
  books.compare(seen)

  for (const { id, type, metadata } of tokens) books.places.set(metadata.tag, { id, type })
  for (const { name, ...place } of applications) books.places.set(name, place)
  await checkCounts(target, ledger, tokens)
  await checkKeys(target, ledger)
  for (const { id, data } of tokens.slice(0, 10))
    assert.deepEqual((await read(target, `/tokens/${id}`, 'private_api_key')).data, data)
}

const all = async (
  target: Target,
  path: string,
  by: 'private_api_key' | 'management_api_key',
): Promise<Body[]> => {
  const found: Body[] = []
  for (let page = 1; ; page++) {
    const { pagination, data } = await read(target, `${path}?size=100&page=${page}`, by)
    found.push(...data)
    if (data.length === 100) continue
    assert.equal(pagination.total_items, found.length, `total_items of ${path}`)
    return found
  }
}

type Found = { name: string; id: string; within?: string }

/** Applications that the load created, with their keys. */
const readApplications = async (
  target: Target,
  note: (name: string, n: number) => void,
): Promise<Found[]> => {
  const found: Found[] = []
  for (const application of await all(target, '/applications', 'management_api_key')) {
    if (!application.name.startsWith('application:')) continue
    const { tag, n } = applicationState(application)
    note(tag, n)
    found.push({ name: tag, id: application.id })
    const writer = tag.slice('application:'.length).split('.', 1)[0]
    const keys = await read(target, `/applications/${application.id}/keys`, 'management_api_key')
    for (const key of keys) {
      const number = keyNumber(key)
      if (number === undefined) continue
      note(`key:${writer}.${number}`, number)
      found.push({ name: `key:${writer}.${number}`, id: key.id, within: tag })
    }
    const first = keys.filter((key: Body) => keyNumber(key) === undefined)
    assert.equal(first.length, tag.endsWith('.with-key') ? 1 : 0, `${tag} has ${first.length} first keys`)
  }
  return found
}

/** Compares the counters by type and of the month with what was listed and what has existed. */
const checkCounts = async (target: Target, { books }: Ledger, tokens: readonly Body[]): Promise<void> => {
  const { token_report } = await read(target, '/tenants/self/reports/usage', 'management_api_key')
  for (const type of ['token', 'card']) {
    const count = tokens.filter(one => one.type === type).length
    const { pagination } = await read(target, `/tokens?size=1&type=${type}`, 'private_api_key')
    assert.equal(pagination.total_items, count, `total_items of ${type}`)
    assert.equal(token_report.metrics_by_type[type]?.count ?? 0, count, `usage of ${type}`)
  }
  const monthOf = (clock: number): number => new Date(clock).getUTCMonth()
  if (monthOf(startedAt) !== monthOf(Date.now() + target.clockMs)) return
  const { least, most } = books.everMade('token:')
  const active = token_report.monthly_active_tokens
  assert.ok(active >= least && active <= most, `${active} active tokens, and ${least} to ${most} were made`)
}

const startedAt = Date.now()
const keysTried = 5

/** Existing keys work. Others stop working within a second on every node (C27). */
const checkKeys = async (target: Target, { books, secrets }: Ledger): Promise<void> => {
  const living = new Set(books.living('key:'))
  for (const [name, key] of [...secrets].slice(-keysTried)) {
    const expected = living.has(name) ? 200 : 401
    const until = Date.now() + closedAfterMs
    for (let status = 0; status !== expected; ) {
      const url = (await target.reach(() => 0)) ?? ''
      const isLast = Date.now() > until || expected === 200
      status = (await askOnce(url, 'GET', '/applications/key', { key }))?.status ?? 0
      if (isLast) assert.equal(status, expected, `the key ${name}`)
    }
    if (expected === 401) secrets.delete(name)
  }
}
