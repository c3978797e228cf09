import { globSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import './follow-tests-alone.ts'
import { test } from 'node:test'
import { takenVariable } from './temporary-folder.ts'

/** What takes longest comes first, so that no process is left alone with it at the end. */
const firstFolders = [
  'serving',
  'cli',
  'crash',
  'nodes',
  'adversary',
  'faults',
  'tampering',
  'api',
  'operations',
]

const root = join(import.meta.dirname, '../../..')

const allFiles = (): string[] => {
  const first = firstFolders.flatMap(folder => filesOf(`server/test/${folder}`))
  return [...new Set([...first, ...filesOf('server/test', 'client/test', 'scripts')])]
}

const filesOf = (...folders: string[]): string[] =>
  globSync(
    folders.map(folder => `${folder}/**/*.test.ts`),
    { cwd: root },
  ).sort()

/**
 * Runs the tests of one file after another, each time of the first that no other process has taken, until none is left. `npm test`
 * has one such process for each file in `test/together`. In a process of its own each file would load and warm up the whole vault
 * again, which is a third of the time of most.
 */
export const takeTests = async (): Promise<void> => {
  const taken = process.env[takenVariable] ?? mkdtempSync(join(tmpdir(), 'strongroom-taken-'))
  for (const [place, file] of allFiles().entries()) {
    if (!take(join(taken, String(place)))) continue
    await import(pathToFileURL(join(root, file)).href).catch((error: unknown) =>
      test(`${file} can be loaded`, () => Promise.reject(error)),
    )
    // Its tests run one after another; this is the last of them.
    await test(`${file} has come to its end`, () => {})
  }
}

const take = (note: string): boolean => {
  try {
    writeFileSync(note, '', { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  }
}
