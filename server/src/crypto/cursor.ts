import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import type { Instant } from '../domain/time/instant.ts'
import type { ListPosition } from '../domain/tokens/list-position.ts'
import { open, seal } from './aead.ts'
import type { TenantKeys } from './keys.ts'

const derived = new WeakMap<TenantKeys, KeyObject>()

/** A key of its own: cursors are made by reads, which must not use up the seals of a data key. */
const cursorKey = (keys: TenantKeys): KeyObject => {
  let key = derived.get(keys)
  if (key === undefined) {
    key = createSecretKey(Buffer.from(hkdfSync('sha256', keys.index, '', 'strongroom/cursor', 32)))
    derived.set(keys, key)
  }
  return key
}

/** C25: opaque and authenticated. `boundTo` is the list that the cursor is good for, and no other. */
export const sealCursor = (keys: TenantKeys, { createdAt, id }: ListPosition, boundTo: string): string =>
  seal(cursorKey(keys), 1, JSON.stringify([createdAt, id]), context(keys, boundTo)).toString('base64url')

/** Undefined for any text that was not sealed for this tenant and this list, to the letter. */
export const openCursor = (keys: TenantKeys, text: string, boundTo: string): ListPosition | undefined => {
  const sealed = Buffer.from(text, 'base64url')
  // The decoder skips what it does not know; a cursor with something added is a changed cursor.
  if (sealed.toString('base64url') !== text) return undefined
  const plaintext = open(cursorKey(keys), sealed, context(keys, boundTo))
  if (plaintext === undefined) return undefined
  const [createdAt, id] = JSON.parse(plaintext.toString('utf8')) as [Instant, string]
  return { createdAt, id }
}

const context = (keys: TenantKeys, boundTo: string): string =>
  JSON.stringify(['cursor', keys.tenantId, boundTo])
