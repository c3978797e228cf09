import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import type { Instant } from '../domain/time/instant.ts'
import type { ListPosition } from '../domain/tokens/list-position.ts'
import { open, type SealContext, seal } from './aead.ts'
import type { TenantKeys } from './keys.ts'

const derived = new WeakMap<TenantKeys, KeyObject>()

/** A separate key: reads make cursors, and reads must not use up the seals of a data key. */
const cursorKey = (keys: TenantKeys): KeyObject => {
  let key = derived.get(keys)
  if (key === undefined) {
    key = createSecretKey(Buffer.from(hkdfSync('sha256', keys.index, '', 'strongroom/cursor', 32)))
    derived.set(keys, key)
  }
  return key
}

/** C25: opaque and authenticated. `boundTo` names the only list that the cursor is valid for. */
export const sealCursor = (keys: TenantKeys, { createdAt, id }: ListPosition, boundTo: string): string =>
  seal(cursorKey(keys), 1, JSON.stringify([createdAt, id]), context(keys, boundTo)).toString('base64url')

/** Undefined unless the text is exactly one that was sealed for this tenant and this list. */
export const openCursor = (keys: TenantKeys, text: string, boundTo: string): ListPosition | undefined => {
  const sealed = Buffer.from(text, 'base64url')
  // The decoder skips characters it does not know, so a cursor with something added has to be caught here.
  if (sealed.toString('base64url') !== text) return undefined
  const plaintext = open(cursorKey(keys), sealed, context(keys, boundTo))
  if (plaintext === undefined) return undefined
  const [createdAt, id] = JSON.parse(plaintext.toString('utf8')) as [Instant, string]
  return { createdAt, id }
}

const context = (keys: TenantKeys, boundTo: string): SealContext => ['cursor', keys.tenantId, boundTo]
