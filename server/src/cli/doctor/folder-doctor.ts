import { fileAccess, fileModes, freeSpace, movedVault, vaultFile } from './file-checks.ts'
import type { Finding, Remedy } from './finding.ts'
import type { StorageDoctor } from './storage-doctor.ts'

export const folderDoctor = (folder: string): StorageDoctor => ({
  accessChecks: [vaultFile(folder), movedVault(folder), fileAccess(folder), fileModes(folder)],
  roomChecks: [freeSpace(folder)],
  explain: error => ({
    problem: error instanceof Error ? error.message : 'the vault cannot be read',
    remedy: {
      byHand:
        'see whether --data names the folder that you mean, and whether the file can be read where it is',
    },
  }),
  restore,
  compareClocks:
    'compare "date -u" with a clock that you trust, and set this machine\'s if it is behind; if it is right',
})

/** Pasted unedited, it does nothing. */
const restore = (flags: string): Remedy => ({
  first: stopEverything,
  command: `backup=/path/to/your/vault.db && strongroom restore "$backup" --set-aside ${flags}`,
})

/** A running server would go on writing to the files that a restore moves away. */
const stopEverything = 'stop every server and command that works on this vault'

/** Whether only a backup can make good what was found. */
export const needsBackup = ({ first }: Finding): boolean => first === stopEverything
