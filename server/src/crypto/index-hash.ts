import { hash as oneShotHash } from 'node:crypto'
import { hmacSha256 } from './hmac.ts'
import type { TenantKeys } from './keys.ts'

/** Twelve bytes: among ten million terms two collide with a chance of about 10^-15. */
const hashBytes = 12

/** Types and containers recur in almost every token, list and rule. Hashing one again would cost 1.5 µs. */
const recurring = new Set(['type', 'home', 'container', 'direct', 'below'])
const recurringMax = 1_000
const caches = new WeakMap<TenantKeys, Map<string, Buffer>>()

/** What an index holds instead of a value: a keyed hash of field and value, so equal values of different fields differ. */
export const indexHash = (keys: TenantKeys, field: string, value: string): Buffer => {
  if (!recurring.has(field)) return hash(keys, field, value)
  let cache = caches.get(keys)
  if (cache === undefined || cache.size >= recurringMax) {
    cache = new Map()
    caches.set(keys, cache)
  }
  const name = `${field} ${value}`
  let known = cache.get(name)
  if (known === undefined) {
    known = hash(keys, field, value)
    cache.set(name, known)
  }
  return known
}

/**
 * The term of a fingerprint, and the deduplication tag that tells tokens with equal fingerprints apart. The tag is
 * keyed by the part of the term's hash that is stored nowhere, so one HMAC serves both.
 */
export const fingerprintHash = (
  keys: TenantKeys,
  fingerprint: string,
  tag: string | undefined,
): {
  term: Buffer
  tag: Buffer | null
} => {
  const full = hmacSha256(keys.index, JSON.stringify(['fingerprint', fingerprint]))
  const secret = full.slice(hashBytes * 2)
  return {
    term: Buffer.from(full.slice(0, hashBytes * 2), 'hex'),
    tag:
      tag === undefined ? null : Buffer.from(oneShotHash('sha256', secret + tag, 'hex').slice(0, 16), 'hex'),
  }
}

// JSON keeps lone surrogates apart, which UTF-8 would fold into one replacement character.
const hash = (keys: TenantKeys, field: string, value: string): Buffer =>
  Buffer.from(hmacSha256(keys.index, JSON.stringify([field, value])).slice(0, hashBytes * 2), 'hex')
