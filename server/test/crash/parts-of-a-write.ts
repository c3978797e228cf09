import assert from 'node:assert/strict'
import type { Body } from './target.ts'

/** What a write puts into each part of a thing, and how to tell from a thing that all its parts come from one write. */

const cvcOf = (n: number): string => String(n % 1000).padStart(3, '0')

/** The clock moves by more than an hour at a time, so a cvc lives exactly until the clock's next move. */
export const parts = (type: string, tag: string, n: number, clockMs: number) => ({
  type,
  data:
    type === 'card'
      ? { number: '4242424242424242', expiration_month: (n % 12) + 1, cvc: cvcOf(n) }
      : { left: n, right: n },
  metadata: { tag, n: String(n), clock: String(clockMs) },
})

export const applicationName = (tag: string, n: number): string => `${tag} ${n}`
export const ruleOf = (n: number) => ({
  description: `of ${n}`,
  priority: n % 1000,
  container: '/',
  transform: 'mask',
  permissions: ['token:read'],
})

const keysExpireFrom = Date.UTC(2090, 0)
export const keyExpiry = (n: number): string => new Date(keysExpireFrom + n).toISOString()

export const tokenState = ({ id, type, data, metadata }: Body, clockMs: number): number => {
  const n = Number(metadata.n)
  const written = parts(type, metadata.tag, n, clockMs).data as Record<string, unknown>
  const { cvc: _cvc, ...lasting } = written
  const isFresh = metadata.clock === String(clockMs)
  assert.deepEqual(data, isFresh ? written : lasting, `${id} is half written`)
  return n
}

export const applicationState = ({ name, rules }: Body): { tag: string; n: number } => {
  const [tag = '', number] = name.split(' ')
  const n = Number(number)
  assert.deepEqual(rules, [ruleOf(n)], `${tag} is half written`)
  return { tag, n }
}

export const tenantState = ({ name, settings }: Body): number | undefined => {
  const n = name.match(/^Tenant (\d+)$/)?.[1]
  if (n === undefined) return undefined
  assert.equal(settings.fingerprint_tokens, String(Number(n) % 2 === 0), 'the tenant is half written')
  return Number(n)
}

export const keyNumber = ({ expires_at }: Body): number | undefined =>
  expires_at === undefined ? undefined : Date.parse(expires_at) - keysExpireFrom
