import { existsSync, globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { databasePath, restoringPath, setAsidePrefix } from './paths.ts'

/** Files that may remain of a vault. SQLite would begin a new database and discard a log without one. */
export const describeRemains = (dataFolder: string): string | undefined => {
  const path = databasePath(dataFolder)
  if (sizeOf(path) > 0) return undefined
  const loss = `${path} ${existsSync(path) ? 'is empty' : 'is gone'}`
  const restoring = restoringPath(dataFolder)
  if (existsSync(restoring))
    return `${restoring} is of a restore that is not done, and ${loss}: wait for it; or, if it was stopped, delete that folder and run strongroom restore again`
  const log = `${path}-wal`
  if (sizeOf(log) > 0)
    return `${log} holds writes, but ${loss}: put the vault.db that belongs to it beside it, or move it away`
  // Whatever it contains, because it may be closed to this user.
  const [aside] = globSync(`${setAsidePrefix}*`, { cwd: dataFolder })
  if (aside === undefined) return undefined
  return `${join(dataFolder, aside)} was set aside by a restore, but ${loss}: run strongroom restore with a backup, or move that folder away`
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
