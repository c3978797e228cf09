import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { Memo } from '../domain/memo.ts'
import type { Instant } from '../domain/time/instant.ts'
import type { ListPosition } from '../domain/tokens/list-position.ts'
import { open, type SealContext, seal } from './aead.ts'
import type { TenantKeys, VaultKeys } from './keys.ts'

const derived = new WeakMap<TenantKeys, KeyObject>()

/** A separate key: reads make cursors, and reads must not use up the seals of a data key. */
const cursorKey = (keys: TenantKeys): KeyObject => {
  let key = derived.get(keys)
  if (key === undefined) {
    key = derive(keys.index, 'strongroom/cursor')
    derived.set(keys, key)
  }
  return key
}

const derive = (from: KeyObject, purpose: string): KeyObject =>
  createSecretKey(Buffer.from(hkdfSync('sha256', from, '', purpose, 32)))

/** C25: opaque and authenticated. `boundTo` names the only list that the cursor is valid for. */
export const sealCursor = (keys: TenantKeys, { createdAt, id }: ListPosition, boundTo: string): string =>
  seal(cursorKey(keys), 1, JSON.stringify([createdAt, id]), context(keys, boundTo)).toString('base64url')

/** Undefined unless the text is exactly one that was sealed for this tenant and this list. */
export const openCursor = (keys: TenantKeys, text: string, boundTo: string): ListPosition | undefined => {
  const plaintext = openText(cursorKey(keys), text, context(keys, boundTo))
  if (plaintext === undefined) return undefined
  const [createdAt, id] = JSON.parse(plaintext) as [Instant, string]
  return { createdAt, id }
}

const context = (keys: TenantKeys, boundTo: string): SealContext => ['cursor', keys.tenantId, boundTo]

const openText = (key: KeyObject, text: string, context: SealContext): string | undefined => {
  const sealed = exactly(text)
  return sealed && open(key, sealed, context)?.toString('utf8')
}

/** How far a log was read: for each writer the number of the record at which reading goes on. */
export type LogPosition = ReadonlyMap<number, number>

const logKeysRemembered = 4_096
const logKeys = new WeakMap<KeyObject, Memo<KeyObject>>()

/** From the key of all logs, which outlives the keys of tenants, as logs do. */
const logCursorKey = ({ log }: Pick<VaultKeys, 'log'>, tenantId: string): KeyObject => {
  let known = logKeys.get(log)
  if (known === undefined) {
    known = new Memo(logKeysRemembered)
    logKeys.set(log, known)
  }
  return known.getOrMake(tenantId, () => derive(log, `strongroom log cursor ${tenantId}`))
}

type LogCursorFor = { readonly tenantId: string; readonly boundTo: string }

/** L5. `boundTo` names the direction and the filters that the cursor is valid for. */
export const sealLogCursor = (
  keys: Pick<VaultKeys, 'log'>,
  cursorFor: LogCursorFor,
  position: LogPosition,
): string => sealLogState(keys, cursorFor, { writers: [...position] }).toString('base64url')

/** Undefined unless the text is exactly one that was sealed for this log, direction and filters. */
export const openLogCursor = (
  keys: Pick<VaultKeys, 'log'>,
  cursorFor: LogCursorFor,
  text: string,
): LogPosition | undefined => {
  const opened = openLogState(keys, cursorFor, exactly(text))
  if (opened === undefined) return undefined
  const { writers } = opened as { readonly writers: readonly [number, number][] }
  return new Map(writers)
}

/** What is kept of how far a log was read, wherever it is kept. */
export const sealLogState = (keys: Pick<VaultKeys, 'log'>, cursorFor: LogCursorFor, state: unknown): Buffer =>
  seal(logCursorKey(keys, cursorFor.tenantId), 1, JSON.stringify(state), logContext(cursorFor))

/** Undefined unless it was sealed for this log and purpose. */
export const openLogState = (
  keys: Pick<VaultKeys, 'log'>,
  cursorFor: LogCursorFor,
  sealed: Uint8Array | undefined,
): unknown => {
  if (sealed === undefined) return undefined
  const plaintext = open(logCursorKey(keys, cursorFor.tenantId), sealed, logContext(cursorFor))
  return plaintext === undefined ? undefined : JSON.parse(plaintext.toString('utf8'))
}

/** The bytes of a cursor. The decoder skips characters it does not know, so a cursor with something added has to be caught here. */
export const exactly = (text: string): Buffer | undefined => {
  const sealed = Buffer.from(text, 'base64url')
  return sealed.toString('base64url') === text ? sealed : undefined
}

const logContext = ({ tenantId, boundTo }: LogCursorFor): SealContext => ['log cursor', tenantId, boundTo]
