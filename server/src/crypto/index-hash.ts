import { createHmac } from 'node:crypto'
import type { TenantKeys } from './keys.ts'

/** Twelve bytes: among ten million terms two collide with a chance of about 10^-15. */
const hashBytes = 12

/** Few values of these fields recur in almost every token; hashing them anew would cost 3 µs each. */
const recurring = new Set(['type', 'container', 'own-container'])
const recurringMax = 1_000
const caches = new WeakMap<TenantKeys, Map<string, Buffer>>()

/** What an index holds instead of a value: a keyed hash in which the field takes part (equal terms of different fields differ). */
export const indexHash = (keys: TenantKeys, field: string, value: string): Buffer => {
  // JSON keeps lone surrogates apart, which UTF-8 would fold into one replacement character.
  const term = JSON.stringify([field, value])
  if (!recurring.has(field)) return hash(keys, term)
  let cache = caches.get(keys)
  if (cache === undefined || cache.size >= recurringMax) {
    cache = new Map()
    caches.set(keys, cache)
  }
  let known = cache.get(term)
  if (known === undefined) {
    known = hash(keys, term)
    cache.set(term, known)
  }
  return known
}

const hash = (keys: TenantKeys, term: string): Buffer =>
  createHmac('sha256', keys.index).update(term).digest().subarray(0, hashBytes)
