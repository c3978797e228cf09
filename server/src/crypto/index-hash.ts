import { hash } from 'node:crypto'
import { hmacSha256 } from './hmac.ts'
import type { TenantKeys } from './keys.ts'

/** Twelve bytes: among ten million terms two collide with a chance of about 10^-15. */
const hashBytes = 12

/** What an index holds instead of a value: a keyed hash of field and value, so equal values of different fields differ. */
export const indexHash = (keys: TenantKeys, field: string, value: string): Buffer =>
  Buffer.from(hmacOf(keys, field, value).slice(0, hashBytes * 2), 'hex')

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
  const full = hmacOf(keys, 'fingerprint', fingerprint)
  const secret = full.slice(hashBytes * 2)
  return {
    term: Buffer.from(full.slice(0, hashBytes * 2), 'hex'),
    tag: tag === undefined ? null : Buffer.from(hash('sha256', secret + tag, 'hex').slice(0, 16), 'hex'),
  }
}

// JSON keeps lone surrogates apart, which UTF-8 would fold into one replacement character.
const hmacOf = (keys: TenantKeys, field: string, value: string): string =>
  hmacSha256(keys.index, JSON.stringify([field, value]))
