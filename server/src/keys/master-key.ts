import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'

const prefix = 'strongroom-master-key-1:'

/** A master key as text, the way a file or an environment variable holds it. */
export const newMasterKeyText = (): string => `${prefix}${randomBytes(32).toString('base64')}`

export type MasterKeys = {
  /** The first key wraps. The older ones after it open what has not been wrapped again since the master key was rotated. */
  readonly keys: readonly [KeyObject, ...KeyObject[]]
  /** The marks of keys that were removed. */
  readonly retired: readonly string[]
}

/** The master keys in a text, and marks of retired ones, separated by white space; undefined if any of it is something else. */
export const readMasterKeys = (text: string): MasterKeys | undefined => {
  const words = text.trim().split(/\s+/)
  const retired = words.filter(word => retiredForm.test(word))
  const [first, ...older] = words.filter(word => !retiredForm.test(word)).map(readMasterKey)
  if (first === undefined || !older.every(key => key !== undefined)) return undefined
  return { keys: [first, ...older], retired }
}

const wellFormed = new RegExp(`^${prefix}[A-Za-z0-9+/]{43}=$`)

const readMasterKey = (text: string): KeyObject | undefined =>
  wellFormed.test(text) ? createSecretKey(text.slice(prefix.length), 'base64') : undefined

const retiredPrefix = 'strongroom-retired-key-1:'
const retiredForm = new RegExp(`^${retiredPrefix}[0-9a-f]{64}$`)

/** Stays in the place of a key that was taken out, and tells a process that knows only that key that a rotation took place. */
export const retiredMark = (key: KeyObject): string =>
  retiredPrefix + createHmac('sha256', key).update(retiredPrefix).digest('hex')
