import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { StarterKeys } from '../../src/cli/starter-applications.ts'
import { Seeded } from '../rig/seeded.ts'
import { cvcOf, type Expectations, type ListedToken } from './expectations.ts'

const writers = 12

/** A vault that is reached with these keys. */
type Target = { readonly keys: StarterKeys }
type Answer = { readonly status: number; readonly body: Record<string, unknown> }

/** An answer, or undefined where the process that should give it died before. */
const send = async (
  vault: Target,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer | undefined> => {
  const { base_url, api_key, private_api_key } = vault.keys
  const isWrite = method === 'POST' || method === 'PATCH'
  try {
    const reply = await fetch(base_url + path, {
      method,
      headers: {
        'svc-api-key': isWrite ? api_key : private_api_key,
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? {} : JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** Several writers at once, each with tokens of its own; says how many writes were answered and how many were cut off. */
export const load = async (
  shared: Shared,
  { seed, round, isOver, answered }: LoadOptions,
): Promise<{ answered: number; cut: number }> => {
  const count = { answered: 0, cut: 0 }
  const write = async (writer: number): Promise<void> => {
    const random = new Seeded(seed * 100 + writer)
    for (let number = 0; !isOver(); number++) {
      const step = { ...shared, random, writer: `w${writer}.`, name: `w${writer}.${round}.${number}` }
      if (await random.pick(steps)?.(step)) answered(++count.answered)
      else count.cut++
    }
  }
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)))
  return count
}

type LoadOptions = {
  readonly seed: number
  readonly round: number
  readonly isOver: () => boolean
  /** Called with the number of answers so far. */
  readonly answered: (count: number) => void
}

/** A create that carries an idempotency key and still waits for its answer. */
export type Unanswered = { readonly key: string; readonly n: number }
export type Shared = {
  readonly vault: Target
  readonly expectations: Expectations
  readonly unanswered: Map<string, Unanswered>
}

/** One write. False where the process died before it answered. */
type Step = (
  context: Shared & {
    readonly random: Seeded
    /** The writer's prefix, and a name that no other step has. */
    readonly writer: string
    readonly name: string
  },
) => Promise<boolean>

const token = (tag: string, n: number) => ({
  type: 'token',
  data: { left: n, right: n },
  metadata: { tag, n: String(n) },
})
const card = (tag: string, n: number) => ({
  type: 'card',
  data: { number: '4242424242424242', expiration_month: (n % 12) + 1, cvc: cvcOf(n) },
  metadata: { tag, n: String(n) },
})

/** Writes, and keeps the books: possible before the request, certain after the answer. */
const change = async (
  expectations: Expectations,
  tags: readonly string[],
  to: number | undefined,
  sending: () => Promise<Answer | undefined>,
  expected: number,
): Promise<Answer | undefined> => {
  expectations.begin(tags, to)
  const answer = await sending()
  if (answer === undefined) return undefined
  assert.equal(answer.status, expected, JSON.stringify(answer.body))
  expectations.settle(tags, to)
  return answer
}

const create: Step = async ({ vault, expectations, random, name }) => {
  const n = random.below(100_000)
  const body = random.below(2) === 0 ? token(name, n) : { ...card(name, n), id: name }
  const answer = await change(expectations, [name], n, () => send(vault, 'POST', '/tokens', body), 201)
  if (answer === undefined) return false
  expectations.found.set(name, answer.body as ListedToken)
  return true
}

const tokenize: Step = async ({ vault, expectations, random, name }) => {
  const n = random.below(100_000)
  const tags = ['a', 'b', 'c', 'd'].map(part => `${name}.${part}`)
  const body = tags.map((tag, index) => (index === 1 ? card(tag, n) : token(tag, n)))
  const sending = () => send(vault, 'POST', '/tokenize', { inside: body })
  const answer = await change(expectations, tags, n, sending, 200)
  if (answer === undefined) return false
  const made = answer.body.inside as ListedToken[]
  for (const token of made) expectations.found.set(token.metadata.tag ?? '', token)
  return true
}

/** A token of the writer's that may be changed: one whose create is still to be repeated would not come back changed. */
const pickLiving = ({ expectations, unanswered, random, writer }: Parameters<Step>[0]): string | undefined =>
  random.pick(expectations.living(writer).filter(tag => tag !== unanswered.get(writer)?.key))

const patch: Step = async context => {
  const { vault, expectations, random } = context
  const tag = pickLiving(context)
  const known = expectations.found.get(tag ?? '')
  if (tag === undefined || known === undefined) return create(context)
  const n = random.below(100_000)
  const { data, metadata } = known.type === 'card' ? card(tag, n) : token(tag, n)
  const patching = () => send(vault, 'PATCH', `/tokens/${known.id}`, { data, metadata })
  return (await change(expectations, [tag], n, patching, 200)) !== undefined
}

const remove: Step = async context => {
  const { vault, expectations } = context
  const tag = pickLiving(context)
  const known = expectations.found.get(tag ?? '')
  if (tag === undefined || known === undefined) return tokenize(context)
  const deleting = () => send(vault, 'DELETE', `/tokens/${known.id}`)
  return (await change(expectations, [tag], undefined, deleting, 204)) !== undefined
}

/** The same key until an answer comes, across the death of the vault; the token must be there once. */
const createOnce: Step = async ({ vault, expectations, unanswered, random, writer, name }) => {
  const { key, n } = unanswered.get(writer) ?? { key: name, n: random.below(100_000) }
  unanswered.set(writer, { key, n })
  const headers = { 'svc-idempotency-key': key }
  const sending = async (): Promise<Answer | undefined> => {
    for (;;) {
      const answer = await send(vault, 'POST', '/tokens', token(key, n), headers)
      // What a dead worker had handed on may be committed just now: then it is in flight elsewhere (C33).
      if (answer?.status !== 409) return answer
    }
  }
  const answer = await change(expectations, [key], n, sending, 201)
  if (answer === undefined) return false
  unanswered.delete(writer)
  expectations.found.set(key, answer.body as ListedToken)
  return true
}

const steps: readonly Step[] = [create, create, tokenize, patch, patch, patch, remove, createOnce]

/** Everything that the vault says about what it holds must agree with the books. */
export const check = async (vault: Target, expectations: Expectations): Promise<void> => {
  const tokens: ListedToken[] = []
  let total: unknown
  for (let page = 1; ; page++) {
    const reply = await send(vault, 'GET', `/tokens?size=100&page=${page}`)
    assert.equal(reply?.status, 200)
    const { pagination, data } = reply.body as { pagination: { total_items: number }; data: ListedToken[] }
    tokens.push(...data)
    total = pagination.total_items
    if (data.length < 100) break
  }
  expectations.check(tokens)
  assert.equal(total, tokens.length, 'total_items')
  for (const type of ['token', 'card']) {
    const reply = await send(vault, 'GET', `/tokens?size=1&type=${type}`)
    assert.equal(reply?.status, 200)
    const { pagination } = reply.body as { pagination: { total_items: number } }
    assert.equal(
      pagination.total_items,
      tokens.filter(one => one.type === type).length,
      `total_items of ${type}`,
    )
  }
  for (const { id, data } of tokens.slice(0, 50)) {
    const read = await send(vault, 'GET', `/tokens/${id}`)
    assert.deepEqual(read?.body.data, data)
  }
}

/** Nothing in storage belongs to a token that is not there, and nothing of a token is missing. */
export const checkStorage = (folder: string): void => {
  const database = new DatabaseSync(join(folder, 'vault.db'), { readOnly: true })
  const count = (sql: string): unknown => database.prepare(sql).get()?.n
  assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
  for (const table of ['terms', 'matches', 'transients'])
    assert.equal(
      count(`SELECT count(*) AS n FROM ${table} x WHERE NOT EXISTS
        (SELECT 1 FROM tokens k WHERE k.tenant = x.tenant AND k.token_id = x.token_id)`),
      0,
      `${table} without a token`,
    )
  assert.equal(
    count(`SELECT count(*) AS n FROM tokens k WHERE NOT EXISTS
      (SELECT 1 FROM terms x WHERE k.tenant = x.tenant AND k.token_id = x.token_id)`),
    0,
    'tokens without terms',
  )
  database.close()
}
