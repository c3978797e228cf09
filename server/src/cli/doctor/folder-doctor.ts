import { statSync } from 'node:fs'
import { join } from 'node:path'
import { shellWord } from '../../domain/text/terminal.ts'
import { databaseFiles, databasePath, setAsidePrefix } from '../data-folder/paths.ts'
import { fileAccess, fileModes, freeSpace, movedVault, vaultFile } from './file-checks.ts'
import type { Remedy } from './finding.ts'
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
  restore: () => restore(folder),
  compareClocks:
    'compare "date -u" with a clock that you trust, and set this machine\'s if it is behind; if it is right',
})

/**
 * Deletes nothing, because only the damaged files may hold the newest writes. The backup is copied first, so nothing is moved if
 * the backup does not fit or is missing, as when the line is pasted unedited.
 */
const restore = (folder: string): Remedy => {
  const files = databaseFiles(folder).map(shellWord)
  const restored = shellWord(`${databasePath(folder)}.restored`)
  return {
    // A running server would go on writing to the moved files.
    first: 'stop every server and command that works on this vault',
    command: [
      'backup=/path/to/your/vault.db',
      `cp "$backup" ${restored}`,
      ...giveTo(folder, restored),
      `chmod 600 ${restored}`,
      `aside=$(mktemp -d ${shellWord(join(folder, `${setAsidePrefix}XXXXXX`))})`,
      // In parentheses, so that `exit` does not end the shell into which the line is pasted.
      `(for file in ${files.join(' ')}; do if [ -e "$file" ]; then mv "$file" "$aside" || exit 1; fi; done)`,
      `mv ${restored} ${shellWord(databasePath(folder))}`,
    ].join(' && '),
  }
}

/** A file copied by root would be closed to the user who serves it. */
const giveTo = (folder: string, path: string): string[] => {
  const { uid, gid } = statSync(folder)
  return process.geteuid?.() === 0 && uid !== 0 ? [`chown ${uid}:${gid} ${path}`] : []
}
