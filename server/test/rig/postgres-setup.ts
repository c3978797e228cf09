import { accessSync, chmodSync, constants, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { binaries } from './postgres-binaries.ts'
import { type Cluster, fastPlace, startCluster } from './postgres-cluster.ts'
import { serverVariable } from './postgres-databases.ts'
import { takenVariable } from './temporary-folder.ts'

let cluster: Cluster | undefined
let folder: string | undefined

/**
 * One server for all test files of a run, unless one is given. All processes also share its programs, one compile cache, and a
 * folder for their files, in memory if that is possible.
 */
export const globalSetup = async (): Promise<void> => {
  binaries()
  folder = sharedFolder(fastPlace())
  if (!mayRunPrograms(folder)) {
    rmSync(folder, { recursive: true })
    folder = sharedFolder(tmpdir())
  }
  process.env.TMPDIR = folder
  // Kept for the next run, which finds the code of every file that has not changed.
  process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../../../build/compiled')
  process.env[takenVariable] = join(folder, 'taken')
  mkdirSync(join(folder, 'taken'))
  if (process.env[serverVariable]) return
  cluster = await startCluster()
  process.env[serverVariable] = cluster.url
}

export const globalTeardown = async (): Promise<void> => {
  await cluster?.stop()
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** As everybody's folder of temporary files, because some programs run as other users. */
const sharedFolder = (place: string): string => {
  const path = mkdtempSync(join(place, 'strongroom-run-'))
  chmodSync(path, 0o1777)
  return path
}

/** Containers mount their file system in memory so that no program runs from it. */
const mayRunPrograms = (path: string): boolean => {
  const program = join(path, 'program')
  writeFileSync(program, '', { mode: 0o700 })
  try {
    accessSync(program, constants.X_OK)
    return true
  } catch {
    return false
  }
}
