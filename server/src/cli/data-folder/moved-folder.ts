import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../../config/config-error.ts'
import { foreignCode } from '../../domain/foreign-code.ts'
import { printable } from '../../domain/text/printable.ts'

/**
 * Names the database that the vault of a folder was moved to. A file beside the vault, not a row in it: a copy that is asked for
 * again must find its source as it was.
 */
const markOf = (dataFolder: string): string => join(dataFolder, 'moved-to')

/** From here on the folder is a backup: served again, as by a unit that nobody changed, it would drift apart from the database. */
export const markAsMoved = (dataFolder: string, to: string): void => {
  const mark = markOf(dataFolder)
  try {
    writeFileSync(mark, `${to}\n`, { flush: true })
  } catch (error) {
    throw new Error(
      `the database can be served, but ${mark} cannot be written (${foreignCode(error)}): run the same command again, or make sure that nobody serves the folder`,
    )
  }
}

/** Undefined if the vault has not been moved away. */
export const describeMove = (dataFolder: string): { problem: string; advice: string } | undefined => {
  const to = movedTo(dataFolder)
  if (to === undefined) return undefined
  return {
    problem: `${dataFolder} is only a backup, since the vault was moved to ${to}`,
    advice: `serve that database, with --database-url or STRONGROOM_DATABASE_URL instead of the folder (or, if you never will, delete ${markOf(dataFolder)} to serve the folder again)`,
  }
}

export const requireUnmoved = (dataFolder: string): void => {
  const move = describeMove(dataFolder)
  if (move !== undefined) throw new ConfigError(`${move.problem}: ${move.advice}`)
}

const movedTo = (dataFolder: string): string | undefined => {
  try {
    return printable(readFileSync(markOf(dataFolder), 'utf8').trim())
  } catch (error) {
    // Another user may have moved it, and closed the file to this one.
    return foreignCode(error) === 'ENOENT' ? undefined : 'a database'
  }
}
