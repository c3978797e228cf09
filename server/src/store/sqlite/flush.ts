import { closeSync, fsyncSync, openSync } from 'node:fs'

/** The file or folder is on disk once this returns. */
export const flush = (path: string): void => {
  const handle = openSync(path, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
