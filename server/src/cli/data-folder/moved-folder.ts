import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../../config/config-error.ts'
import { foreignCode } from '../../domain/foreign-code.ts'
import { printable } from '../../domain/text/terminal.ts'

/**
 * Names the database to which the vault of a folder was moved, and the identity of the vault when it was copied. This is a file
 * beside the vault, not a row in it: a repeated copy must find its source unchanged.
 */
const markOf = (dataFolder: string): string => join(dataFolder, 'moved-to')

type Move = {
  readonly to: string
  /** The identity of the vault that was copied. */
  readonly copied: string
  /** Its identity after it forgot its transient fields. Undefined until it has. */
  readonly left?: string
}

/** From now on the folder is a backup. If an unchanged unit served it again, it would drift apart from the database. */
export const markAsMoved = (dataFolder: string, move: Move): void => {
  const mark = markOf(dataFolder)
  const draft = `${mark}.new`
  try {
    writeFileSync(draft, `${[move.to, move.copied, ...(move.left ? [move.left] : [])].join('\n')}\n`, {
      flush: true,
    })
    renameSync(draft, mark)
    syncFolder(dataFolder)
  } catch (error) {
    throw new Error(
      `the database can be served, but ${mark} cannot be written (${foreignCode(error)}): run the same command again, or make sure that nobody serves the folder`,
    )
  }
}

const syncFolder = (path: string): void => {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** The identity of the vault when it was copied, if the folder is as that move left it. Otherwise its identity now. */
export const identityAsCopied = (dataFolder: string, identity: string): string => {
  const move = readMark(dataFolder)
  return move?.copied && (move.left === undefined || move.left === identity) ? move.copied : identity
}

/** Undefined if the vault has not been moved away. */
export const describeMove = (dataFolder: string): { problem: string; advice: string } | undefined => {
  const move = readMark(dataFolder)
  if (move === undefined) return undefined
  const { to, copied, left } = move
  if (copied !== undefined && left === undefined)
    return {
      problem: `${dataFolder} still holds short-lived fields, such as card codes, though the vault was moved to ${to}`,
      advice: 'run the same strongroom migrate-store again, which deletes them',
    }
  return {
    problem: `${dataFolder} is only a backup, since the vault was moved to ${to}`,
    advice: `serve that database, with --database-url or STRONGROOM_DATABASE_URL instead of the folder (or, if you never will, delete ${markOf(dataFolder)} to serve the folder again)`,
  }
}

export const requireUnmoved = (dataFolder: string): void => {
  const move = describeMove(dataFolder)
  if (move !== undefined) throw new ConfigError(`${move.problem}: ${move.advice}`)
}

const readMark = (dataFolder: string): (Pick<Move, 'to'> & Partial<Move>) | undefined => {
  try {
    const lines = readFileSync(markOf(dataFolder), 'utf8').trim().split('\n')
    const [to = '', copied, left] = lines.map(printable)
    return { to, ...(copied && { copied }), ...(left && { left }) }
  } catch (error) {
    // Another user may have moved it, and closed the file to this one.
    return foreignCode(error) === 'ENOENT' ? undefined : { to: 'a database' }
  }
}
