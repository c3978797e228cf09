import { randomBytes } from 'node:crypto'
import { closeSync, fchmodSync, fchownSync, fsyncSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const draftNameBytes = 8

export type Owner = { readonly uid: number; readonly gid: number }

/**
 * Whatever fails or is cut off, no half of a key gets the name. Each draft has a name of its own: any other may be that of another
 * key, or of the draft of somebody who makes the same file at this moment.
 */
export const viaDraft = (
  path: string,
  text: string,
  giveName: (draft: string) => void,
  owner?: Owner,
): void => {
  const draft = `${path}.${randomBytes(draftNameBytes).toString('hex')}.new`
  try {
    writeNew(draft, text, owner)
    giveName(draft)
  } finally {
    rmSync(draft, { force: true })
  }
  syncFile(dirname(path))
}

const writeNew = (path: string, text: string, owner?: Owner): void =>
  withFile(path, 'wx', file => {
    if (owner !== undefined) giveTo(file, owner)
    writeFileSync(file, text)
    fsyncSync(file)
  })

/** The open file, not whatever has its name by now; and before a key is in it. */
export const giveTo = (file: number, { uid, gid }: Owner): void => {
  fchmodSync(file, 0o600)
  fchownSync(file, uid, gid)
}

export const syncFile = (path: string): void => withFile(path, 'r', fsyncSync)

export const withFile = (path: string, flags: number | string, work: (file: number) => void): void => {
  const file = openSync(path, flags, 0o600)
  try {
    work(file)
  } finally {
    closeSync(file)
  }
}
