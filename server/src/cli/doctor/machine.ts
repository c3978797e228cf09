import { spawnSync } from 'node:child_process'
import { readFileSync, statfsSync } from 'node:fs'

/** What doctor asks of the machine that it runs on. */
export type Machine = {
  now(): number
  openFilesMax(): number
  freeBytes(folder: string): number
  /** Whether a shell started here can run the command. Its effect ends with that shell. */
  obeys(command: string): boolean
}

export const thisMachine: Machine = {
  now: Date.now,
  // Node raises its soft limit to the hard limit, so the hard limit counts. It can be read only on Linux.
  openFilesMax: () => {
    try {
      const [, hard] = /^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
      return hard === undefined || hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard)
    } catch {
      return Number.POSITIVE_INFINITY
    }
  },
  freeBytes: folder => {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  },
  obeys: command => spawnSync('/bin/sh', ['-c', command], { stdio: 'ignore' }).status === 0,
}
