import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { StarterKeys } from './starter-applications.ts'

/** Undefined if the file is gone or holds something else. The parser's own message would quote keys. */
export const readKeys = (path: string): StarterKeys | undefined => {
  try {
    const stored: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return typeof stored === 'object' && stored !== null ? (stored as StarterKeys) : undefined
  } catch {
    return undefined
  }
}

export const writeKeys = (path: string, keys: StarterKeys): void => {
  const draft = `${path}.new`
  // A leftover file may be open to others.
  rmSync(draft, { force: true })
  writeFileSync(draft, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600, flag: 'wx', flush: true })
  renameSync(draft, path)
}
