import { accessSync, constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { foreignCode } from '../domain/foreign-code.ts'
import { shellWord } from '../domain/text/terminal.ts'

/** A file or folder that exists but that this user may not use. */
export type ClosedFile = {
  readonly problem: string
  /** What to do about it, in words. */
  readonly advice: string
  /** The same as a shell command, if a harmless one exists. */
  readonly command?: string
}

const { R_OK, W_OK, X_OK } = constants
const modes = { read: R_OK, 'read and write': R_OK | W_OK, 'work in': R_OK | W_OK | X_OK }

/** Returns the problem and its remedy. Undefined if this user may use the file or it does not exist. */
export const closedTo = (path: string, use: keyof typeof modes): ClosedFile | undefined => {
  try {
    accessSync(path, modes[use])
    return undefined
  } catch (error) {
    const code = foreignCode(error)
    if (code === 'ENOENT') return undefined
    const problem = `this user may not ${use} ${path} (${code})`
    if (code === 'EROFS') return { problem, advice: 'mount its file system so that it can be written' }
    return { problem, ...(use === 'work in' ? openingFolder(path) : opening(path)) }
  }
}

/** An operator who examines another user's vault must not be told to take over single files of it. */
const opening = (path: string): Pick<ClosedFile, 'advice' | 'command'> => {
  const [file, folder] = [ownerOf(path), ownerOf(dirname(path))]
  const me = process.geteuid?.()
  if (file === undefined) return { advice: 'open the folders above it to this user' }
  const close = `chmod 600 ${shellWord(path)}`
  if (file === me) return { advice: `run ${close}`, command: close }
  const command = `chown ${me} ${shellWord(path)} && ${close}`
  if (folder === me) return { advice: `as root run ${command}`, command }
  return {
    advice: `it belongs to user ${file}: run this as that user, or give it to this one, as root: ${command}`,
  }
}

/** Includes the content of the folder, because the folder alone would be of no use. */
const openingFolder = (path: string): Pick<ClosedFile, 'advice' | 'command'> => {
  const [owner, me] = [ownerOf(path), process.geteuid?.()]
  const close = `chmod 700 ${shellWord(path)}`
  if (owner === me) return { advice: `run ${close}`, command: close }
  return {
    advice: `it belongs to user ${owner}: run this as that user, or give it to this one, as root: chown -R ${me} ${shellWord(path)} && ${close}`,
  }
}

const ownerOf = (path: string): number | undefined => {
  try {
    return statSync(path).uid
  } catch {
    return undefined
  }
}
