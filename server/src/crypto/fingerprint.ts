import { createHmac } from 'node:crypto'
import type { JsonType } from '../domain/json.ts'
import { base58 } from './base58.ts'
import type { TenantKeys } from './keys.ts'

/** C14. `canonical` is the RFC 8785 text of the rendered value. */
export const fingerprintOf = (
  keys: TenantKeys,
  tokenType: string,
  rendered: { readonly type: JsonType; readonly canonical: string },
): string =>
  base58(
    createHmac('sha256', keys.fingerprint)
      .update(`${tokenType}\0${rendered.type}\0${rendered.canonical}`)
      .digest(),
  )
