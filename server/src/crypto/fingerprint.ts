import type { JsonType } from '../domain/json/json.ts'
import { base58 } from './base58.ts'
import { hmacSha256 } from './hmac.ts'
import type { TenantKeys } from './keys.ts'

/** C14. `canonical` is the RFC 8785 text of the rendered value. */
export const fingerprintOf = (
  keys: TenantKeys,
  tokenType: string,
  rendered: { readonly type: JsonType; readonly canonical: string },
): string => {
  const text = `${tokenType}\0${rendered.type}\0${rendered.canonical}`
  return base58(Buffer.from(hmacSha256(keys.fingerprint, text), 'hex'))
}
