import { createHmac, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { KeyKind } from '../domain/access/application.ts'
import { base58 } from './base58.ts'
import type { VaultKeys } from './keys.ts'

/** C30: `key_<kind>_<random><checksum>`; 26 bytes are 208 bits, and base 58 needs at most 36 characters for them. */
const randomLength = 36
const checksumLength = 6
const formOf = (kinds: string): RegExp =>
  new RegExp(`^key_(?:${kinds})_[1-9A-HJ-NP-Za-km-z]{${randomLength + checksumLength}}$`)
const apiKeyForm = formOf('public|general|private|management')
const proxyKeyForm = formOf('proxy')

const checksum = (text: string): string => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(text))
  return base58(bytes).padStart(checksumLength, '1')
}

export const newApiKeyText = (kind: KeyKind): string => newKeyText(kind)

/** A proxy's key has the same form, so that scanners recognise it, and is no API key (U18). */
export const newProxyKeyText = (): string => newKeyText('proxy')

const newKeyText = (kind: string): string => {
  const body = `key_${kind}_${base58(randomBytes(26)).padStart(randomLength, '1')}`
  return body + checksum(body)
}

/** A malformed key needs no look-up: its form is public knowledge. */
export const isApiKey = (text: string): boolean => hasForm(text, apiKeyForm)

export const isProxyKey = (text: string): boolean => hasForm(text, proxyKeyForm)

const hasForm = (text: string, form: RegExp): boolean =>
  form.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength)

export const hashApiKey = (keys: VaultKeys, text: string): Buffer =>
  createHmac('sha256', keys.apiKeys).update(text).digest()
