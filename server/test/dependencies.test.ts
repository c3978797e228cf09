import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

type Manifest = Partial<
  Record<
    'dependencies' | 'devDependencies' | 'optionalDependencies' | 'peerDependencies',
    Record<string, string>
  >
> & { workspaces?: string[] }

const root = join(import.meta.dirname, '../..')
const manifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))
const page = readFileSync(join(root, 'docs/dependencies.md'), 'utf8')

const { workspaces = [] } = manifest('.')
const named = new Set(
  ['.', ...workspaces]
    .map(manifest)
    .flatMap(found => [
      ...Object.keys(found.dependencies ?? {}),
      ...Object.keys(found.devDependencies ?? {}),
      ...Object.keys(found.optionalDependencies ?? {}),
      ...Object.keys(found.peerDependencies ?? {}),
    ]),
)

test('docs/dependencies.md: each dependency has one line that says what it is for and what was weighed against it', () => {
  const rows = page
    .split('## Built into Node')[0]
    ?.split('\n')
    .flatMap(line => /^\| `([^`]+)` \| (?:\S.*\S) \| (?:\S.*\S) \|$/.exec(line)?.[1] ?? [])
  assert.deepEqual(rows?.sort(), [...named].sort())
})

test('docs/dependencies.md: code written by hand is where the page says', () => {
  const places = [...page.matchAll(/`(server\/src\/[^`]+)`/g)].map(([, place = '']) => place)
  assert.notDeepEqual(places, [])
  assert.deepEqual(
    places.filter(place => !existsSync(join(root, place))),
    [],
  )
})
