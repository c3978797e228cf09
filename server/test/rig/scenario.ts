import assert from 'node:assert/strict'
import { tokenTypes } from '../../src/domain/tokens/types/registry.ts'
import type { TestReply } from './answers.ts'
import type { Send, TestVault } from './test-vault.ts'
import { assertAbsent } from './traces.ts'

export type Request = Omit<Send, 'key'> & { readonly method: string; readonly path: string }

/** What must be true after one exchange. */
export type Expectation = {
  readonly status: number
  /** Members of the answer, each compared deeply or matched; it may have others. */
  readonly body?: Readonly<Record<string, unknown>>
  /** Members that the answer must not have. */
  readonly lacks?: readonly string[]
  /** The places that a 400 names, exactly these. */
  readonly errors?: readonly string[]
  readonly headers?: Readonly<Record<string, string | RegExp | null>>
  /** How many tokens the tenant gains: none, unless the scenario says so. */
  readonly stored?: number
  /** Texts that must appear neither in the body nor in a header nor in the log. */
  readonly absent?: readonly string[]
}

/** A row in a table of scenarios that send one body to one endpoint. */
export type Scenario = { readonly name: string; readonly send: unknown; readonly expect: Expectation }

/**
 * Sends one request and checks everything expected of it. `counter` is a key that reads every token of the tenant. A
 * refusal must not repeat what was sent: its body, headers and log lines are searched for every submitted value.
 */
export const sendAndExpect = async (
  vault: TestVault,
  { key, counter }: { key: string; counter: string },
  { method, path, ...send }: Request,
  expected: Expectation,
): Promise<TestReply> => {
  const before = await countTokens(vault, counter)
  const logged = vault.log.length
  const reply = await vault.send(method, path, { key, ...send })
  assert.equal(reply.status, expected.status, reply.text.slice(0, 500))
  if (expected.body !== undefined) assertHolds(reply.body, expected.body)
  for (const name of expected.lacks ?? [])
    assert.ok(!Object.hasOwn(reply.body, name), `the answer has ${name}`)
  if (expected.errors !== undefined)
    assert.deepEqual(Object.keys(reply.body.errors).sort(), [...expected.errors].sort())
  for (const [name, value] of Object.entries(expected.headers ?? {})) {
    const actual = reply.headers.get(name)
    if (value instanceof RegExp) assert.match(actual ?? '', value)
    else assert.equal(actual, value)
  }
  assert.equal((await countTokens(vault, counter)) - before, expected.stored ?? 0, 'tokens stored')
  const absent = [...(expected.absent ?? []), ...(reply.status < 300 ? [] : submittedValues(send.body))]
  assertAbsent(
    {
      body: reply.text,
      headers: JSON.stringify([...reply.headers]),
      log: vault.log.slice(logged).join('\n'),
    },
    absent,
  )
  return reply
}

export const countTokens = async (vault: TestVault, key: string): Promise<number> => {
  const { body } = await vault.get('/tokens?size=1', key)
  return body.pagination.total_items
}

/** Compares the named members deeply; a regular expression matches a text. */
export const assertHolds = (actual: unknown, expected: Readonly<Record<string, unknown>>): void => {
  assert.ok(typeof actual === 'object' && actual !== null)
  const members = actual as Record<string, unknown>
  for (const [name, value] of Object.entries(expected)) {
    assert.ok(Object.hasOwn(members, name), `the answer has no ${name}`)
    if (value instanceof RegExp) assert.match(String(members[name]), value, name)
    else assert.deepEqual(members[name], value, name)
  }
}

/** Short texts occur in any sentence, and type names are words of the interface. */
const telling = (text: string): boolean => text.length >= 5 && !tokenTypes.has(text)

/** Every text and number that was sent as a value. Keys are names and may be repeated (C2). */
const submittedValues = (body: unknown): string[] => {
  if (typeof body === 'string' || typeof body === 'number') return [String(body)].filter(telling)
  if (typeof body !== 'object' || body === null) return []
  return Object.values(body).flatMap(submittedValues)
}
