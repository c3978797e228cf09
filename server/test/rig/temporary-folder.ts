import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const temporaryFolder = (): { path: string; remove: () => void } => {
  const path = mkdtempSync(join(tmpdir(), 'strongroom-test-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** Names the folder in which the processes of `npm test` note the files that they have taken. */
export const takenVariable = 'STRONGROOM_TEST_TAKEN'
