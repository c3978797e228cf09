import { createHmac, type KeyObject } from 'node:crypto'
import type { JsonType } from '../domain/json/json.ts'
import { base58 } from './base58.ts'
import type { TenantKeys } from './keys.ts'

// What storage holds instead of values: hashes under a tenant's index key and its fingerprint key.

/** HMAC-SHA-256 as hexadecimal text, which Node makes faster than a buffer. */
export const hmacSha256 = (key: KeyObject, message: string): string =>
  createHmac('sha256', key).update(message).digest('hex')

/** Twelve bytes: among ten million terms two collide with a chance of about 10^-15. */
const hashBytes = 12
const tagBytes = 8

/** What an index holds instead of a value: a keyed hash of field and value, so equal values of different fields differ. */
export const indexHash = (keys: TenantKeys, field: string, value: string): Buffer =>
  keyedHash(keys, [field, value], hashBytes)

/** Tells apart tokens with equal fingerprints that do not match (C15). `tag` holds everything else that a match compares. */
export const matchTagHash = (keys: TenantKeys, tag: string): Buffer =>
  keyedHash(keys, ['match', 'tag', tag], tagBytes)

/** JSON keeps the parts apart. It also escapes lone surrogates, which UTF-8 would turn into one replacement character. */
const keyedHash = (keys: TenantKeys, parts: readonly string[], bytes: number): Buffer =>
  Buffer.from(hmacSha256(keys.index, JSON.stringify(parts)).slice(0, bytes * 2), 'hex')

/** C14. `canonical` is the RFC 8785 text of the rendered value. */
export const fingerprintOf = (
  keys: TenantKeys,
  tokenType: string,
  rendered: { readonly type: JsonType; readonly canonical: string },
): string => {
  const text = `${tokenType}\0${rendered.type}\0${rendered.canonical}`
  return base58(Buffer.from(hmacSha256(keys.fingerprint, text), 'hex'))
}
