import {
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { foreignCode } from '../domain/foreign-code.ts'
import { shellWord } from '../domain/text/shell-word.ts'
import { KeyProviderError } from './key-provider.ts'
import { type MasterKeys, newMasterKeyText, readMasterKeys, retiredMark } from './master-key.ts'
import { randomBytes } from './random.ts'

const draftNameBytes = 8

/** Never overwrites: a lost master key is a lost vault. */
export const createMasterKeyFile = (path: string): void =>
  viaDraft(path, `${newMasterKeyText()}\n`, draft => linkOrCopy(draft, path))

/** One key per line: the one that wraps, and below it those that it has replaced, or the marks of those. */
export const readMasterKeyFile = (path: string): MasterKeys => read(path)

/** Where the keys go that a rotation takes out of this file. */
export const retiredKeysPath = (path: string): string => `${path}.retired`

/** The same file as if its retired keys were still in it; undefined if there are none that this user can read. */
export const readWithRetiredKeys = (path: string): MasterKeys | undefined => {
  let text: string
  try {
    text = readFileSync(retiredKeysPath(path), 'utf8')
  } catch {
    return undefined
  }
  const { keys, retired } = read(path)
  const older = readMasterKeys(text)?.keys
  return older && { keys: [...keys, ...older], retired }
}

/** Puts a new key above those that are there. */
export const addMasterKey = (path: string): void =>
  replace(path, 'put a new one, which strongroom master-key prints, in its first line', ({ lines }) => [
    newMasterKeyText(),
    ...lines,
  ])

/**
 * Moves all keys but the first to `retiredKeysPath`, because backups may still need them. Says how many. Refuses if the keys are
 * no longer those that the caller knows: nothing may be wrapped yet with a first key that came after the caller looked.
 */
export const retireMasterKeys = (path: string, known: MasterKeys = read(path)): number => {
  const [, ...older] = known.keys
  if (older.length === 0) return 0
  const byHand = `move every key below its first line to ${retiredKeysPath(path)}`
  replace(path, byHand, ({ keys, retired, lines }) => {
    if (keys.length !== known.keys.length || !keys.every((key, n) => known.keys[n]?.equals(key)))
      throw new KeyProviderError(
        `the master key file ${path} has changed meanwhile, so nothing was retired: run strongroom master-key rewrap, and this again`,
      )
    const [first = '', ...others] = lines.filter(line => !retired.includes(line))
    keepRetired(retiredKeysPath(path), others, statSync(path))
    // A key that was brought back for a restore has its mark already.
    const marks = new Set([...older.map(retiredMark), ...retired])
    return [first, ...marks]
  })
  return older.length
}

type Found = MasterKeys & { readonly lines: readonly string[] }

const read = (path: string): Found => {
  let text: string
  let mode: number
  try {
    const found = statSync(path)
    // A pipe would be read once, and from then on be waited for.
    if (!found.isFile() && !found.isDirectory())
      throw new KeyProviderError(
        `the master key file ${path} is not a file`,
        'the master key is not in a file',
      )
    mode = found.mode
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof KeyProviderError) throw error
    throw new KeyProviderError(
      `the master key file ${path} ${unreadable(path, error)}`,
      `the master key file cannot be read (${foreignCode(error)})`,
    )
  }
  if ((mode & 0o077) !== 0)
    throw new KeyProviderError(
      `the master key file ${path} is open to others: run chmod 600 ${shellWord(path)}`,
      'the master key file is open to others',
    )
  const found = readMasterKeys(text)
  if (found === undefined)
    throw new KeyProviderError(
      `the master key file ${path} does not hold a master key: restore it from your backup`,
      'the master key file does not hold a master key',
    )
  return { ...found, lines: text.trim().split(/\s+/) }
}

/** Tells a missing file from an unreadable one: a key that exists but is closed to this user must not be replaced. */
const unreadable = (path: string, error: unknown): string => {
  const code = foreignCode(error)
  if (code === 'ENOENT')
    return 'does not exist: strongroom master-key makes one; for a vault that exists, restore it from your backup'
  if (code === 'EACCES')
    return `may not be read by this user (EACCES): run this as the user that it belongs to, or as root run chown ${process.geteuid?.()} ${shellWord(path)} && chmod 600 ${shellWord(path)}`
  return `cannot be read (${code}): restore it from your backup`
}

/** The file is whole at every moment, and stays its owner's: root may rotate the key of a service. */
const replace = (path: string, byHand: string, revise: (found: Found) => readonly string[]): void => {
  // Without a lock, so that what is wrong with the file itself is said first.
  read(path)
  try {
    const target = realpathSync(path)
    whileLocked(target, () => {
      const text = `${revise(read(path)).join('\n')}\n`
      viaDraft(target, text, draft => renameSync(draft, target), statSync(target))
    })
  } catch (error) {
    if (error instanceof KeyProviderError) throw error
    throw new KeyProviderError(
      `the master key file ${path} cannot be replaced (${foreignCode(error)}): do it by hand, ${byHand}`,
    )
  }
}

/**
 * Of two commands that have read the same file, the second to write would drop the key of the first, and with it whatever that key
 * has wrapped by then. A command that is killed leaves its lock, since only the operator can tell that it is gone: a process id
 * means nothing in another container.
 */
const whileLocked = (path: string, work: () => void): void => {
  const lock = `${path}.lock`
  try {
    withFile(lock, 'wx', () => {})
  } catch (error) {
    if (foreignCode(error) !== 'EEXIST') throw error
    throw new KeyProviderError(
      `another command changes the master key file ${path}: try again; if none does, run rm ${shellWord(lock)} first`,
    )
  }
  try {
    work()
  } finally {
    rmSync(lock, { force: true })
  }
}

/**
 * Whatever fails or is cut off, no half of a key gets the name. Each draft has a name of its own: any other may be that of another
 * key, or of the draft of somebody who makes the same file at this moment.
 */
const viaDraft = (path: string, text: string, giveName: (draft: string) => void, owner?: Owner): void => {
  const draft = `${path}.${randomBytes(draftNameBytes).toString('hex')}.new`
  try {
    writeNew(draft, text, owner)
    giveName(draft)
  } finally {
    rmSync(draft, { force: true })
  }
  syncFile(dirname(path))
}

/** Neither replaces a file that is there, as a rename would. Not all file systems have links. */
const linkOrCopy = (draft: string, path: string): void => {
  try {
    linkSync(draft, path)
  } catch (error) {
    if (foreignCode(error) === 'EEXIST') throw error
    copyFileSync(draft, path, constants.COPYFILE_EXCL)
    syncFile(path)
  }
}

type Owner = { readonly uid: number; readonly gid: number }

const keepRetired = (path: string, lines: readonly string[], owner: Owner): void => {
  try {
    withFile(path, retiredFlags, file => {
      giveTo(file, owner)
      const kept = readFileSync(file, 'utf8')
      const missing = lines.filter(line => !kept.includes(line)).map(line => `${line}\n`)
      try {
        // Unlike `writeSync`, which may write only a part and says so in what it returns.
        writeFileSync(file, [kept === '' || kept.endsWith('\n') ? '' : '\n', ...missing].join(''))
        fsyncSync(file)
      } catch (error) {
        // With half a line at its end, doctor could not read the keys above it either.
        ftruncateSync(file, Buffer.byteLength(kept))
        throw error
      }
    })
    syncFile(dirname(path))
  } catch (error) {
    throw new KeyProviderError(
      `the older master keys cannot be kept in ${path} (${foreignCode(error)}), so nothing was changed`,
    )
  }
}

// Not through a link: whoever may write to the folder could lead root to a file of root's, which would become theirs.
const retiredFlags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW

const writeNew = (path: string, text: string, owner?: Owner): void =>
  withFile(path, 'wx', file => {
    if (owner !== undefined) giveTo(file, owner)
    writeFileSync(file, text)
    fsyncSync(file)
  })

/** The open file, not whatever has its name by now; and before a key is in it. */
const giveTo = (file: number, { uid, gid }: Owner): void => {
  fchmodSync(file, 0o600)
  fchownSync(file, uid, gid)
}

const syncFile = (path: string): void => withFile(path, 'r', fsyncSync)

const withFile = (path: string, flags: number | string, work: (file: number) => void): void => {
  const file = openSync(path, flags, 0o600)
  try {
    work(file)
  } finally {
    closeSync(file)
  }
}
