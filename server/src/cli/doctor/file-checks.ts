import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isOpenToOthers } from '../../config/named-file.ts'
import { shellWord } from '../../domain/text/terminal.ts'
import { type ClosedFile, closedTo } from '../closed-file.ts'
import { brokenLink } from '../data-folder/broken-link.ts'
import { checkDataFolder, closedFiles } from '../data-folder/check-data-folder.ts'
import { describeMove } from '../data-folder/moved-folder.ts'
import { databasePath } from '../data-folder/paths.ts'
import { describeRemains } from '../data-folder/remains.ts'
import type { Check, Finding } from './finding.ts'

const freeBytesMin = 256 * 1_048_576

/** Whether the folder holds the file of a vault, as far as this user can tell. */
export const vaultFile =
  (folder: string): Check =>
  () => {
    if (isFolder(folder)) {
      const closed = closedTo(folder, 'work in')
      if (closed !== undefined) return [closedFinding('file permissions', closed)]
    }
    const broken = brokenLink(folder)
    if (broken !== undefined)
      return [{ check: 'storage', problem: broken.problem, byHand: broken.advice, blocks: true }]
    if (existsSync(folder)) checkDataFolder(folder)
    const remains = describeRemains(folder)
    if (remains !== undefined)
      return [
        {
          check: 'storage',
          problem: remains,
          byHand:
            'stop every process using the folder; then put vault.db back, from a backup if it is lost, or move the rest away',
          blocks: true,
        },
      ]
    if (existsSync(databasePath(folder))) return []
    return [
      {
        check: 'storage',
        problem: `${folder} holds no vault yet`,
        command: `strongroom migrate --data ${shellWord(folder)}`,
        blocks: true,
      },
    ]
  }

/** Faults of a vault that is no longer used do not matter. */
export const movedVault =
  (folder: string): Check =>
  () => {
    const move = describeMove(folder)
    if (move === undefined) return []
    return [{ check: 'storage', problem: move.problem, byHand: move.advice, blocks: true }]
  }

/** Files that this user may not open, so their content cannot be checked. */
export const fileAccess =
  (folder: string): Check =>
  () =>
    closedFiles(folder).map(closed => closedFinding('file permissions', closed))

export const closedFinding = (check: string, { problem, advice, command }: ClosedFile): Finding => ({
  check,
  problem: command === undefined ? problem : `${problem}: ${advice}`,
  ...(command === undefined ? { byHand: advice } : { command }),
  blocks: true,
})

export const fileModes =
  (folder: string): Check =>
  () => {
    const finding = (path: string, mode: string): Finding => ({
      check: 'file permissions',
      problem: `${path} is open to others${mode === '700' ? ' (mkdir -m 700 makes a folder that is not)' : ''}`,
      command: `chmod ${mode} ${shellWord(path)}`,
      blocks: false,
    })
    // Inside a closed folder nobody else can reach the files of the store, whatever their own mode.
    const secrets = readdirSync(folder)
      .filter(name => name.endsWith('.key') || name.endsWith('.json'))
      .map(name => join(folder, name))
      .filter(path => !isFolder(path))
    return [
      ...(isOpenToOthers(folder) ? [finding(folder, '700')] : []),
      ...secrets.filter(isOpenToOthers).map(path => finding(path, '600')),
    ]
  }

export const freeSpace =
  (folder: string): Check =>
  ({ machine }) => {
    if (machine.freeBytes(folder) >= freeBytesMin) return []
    return [
      {
        check: 'limits',
        problem: `less than ${freeBytesMin / 1_048_576} MiB are free where the data is: delete what is not the vault's, or stop the server, move the folder and start it with --data there`,
        command: `disk=/path/to/a/larger/disk && ls -d "$disk" && mv ${shellWord(folder)} "$disk"`,
        blocks: false,
      },
    ]
  }

/** Also false if this user may not see what it is. */
export const isFolder = (path: string): boolean => {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
