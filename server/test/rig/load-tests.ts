import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import './follow-tests-alone.ts'

/**
 * `npm test` runs one process for each of these (`test/together`), with all files of its folders, and one for the rest.
 * Alone, each file would load and warm up the whole vault again, which is a third of the time of most. They start in the order of
 * their files' names: the longest first, so that none is left alone at the end.
 */
const folders = {
  api: ['api'],
  attacks: ['adversary', 'faults', 'tampering'],
  cli: ['cli'],
  serving: ['serving'],
  several: ['crash', 'nodes'],
  store: ['store', 'operations'],
} as const

const root = join(import.meta.dirname, '../../..')
const testsIn = (...paths: string[]): string[] =>
  globSync(
    paths.map(path => `${path}/**/*.test.ts`),
    { cwd: root },
  ).sort()
const testsOf = (name: keyof typeof folders): string[] =>
  testsIn(...folders[name].map(folder => `server/test/${folder}`))

/** With `half`, every second of the files. */
export const loadTests = async (name: keyof typeof folders | 'others', half?: 0 | 1): Promise<void> => {
  const all = name === 'others' ? others() : testsOf(name)
  const files = all.filter((_, place) => half === undefined || place % 2 === half)
  assert.ok(files.length > 0)
  for (const file of files)
    await import(pathToFileURL(join(root, file)).href).catch(async (error: unknown) => {
      const { test } = await import('node:test')
      test(`${file} can be loaded`, () => Promise.reject(error))
    })
}

const others = (): string[] => {
  const apart = new Set((Object.keys(folders) as (keyof typeof folders)[]).flatMap(testsOf))
  return testsIn('server/test', 'client/test', 'scripts').filter(file => !apart.has(file))
}
