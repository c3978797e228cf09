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
const named = (...kinds: Exclude<keyof Manifest, 'workspaces'>[]): string[] =>
  ['.', ...workspaces]
    .map(manifest)
    .flatMap(found => kinds.flatMap(kind => Object.keys(found[kind] ?? {})))
    .sort()

const rows = (heading: string): string[] =>
  (page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '')
    .split('\n')
    .flatMap(line => /^\| `([^`]+)` \| (?:\S.*\S) \| (?:\S.*\S) \|$/.exec(line)?.[1] ?? [])
    .sort()

test('docs/dependencies.md: each dependency has one line that says what it is for and what was weighed against it', () => {
  assert.deepEqual(rows('At run time'), named('dependencies', 'optionalDependencies', 'peerDependencies'))
  assert.deepEqual(rows('For development'), named('devDependencies'))
})

test('docs/dependencies.md: what npm ci --omit=dev installs includes the Node that the service runs on, as in the lockfile', () => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const installed = Object.keys(packages).filter(path => !packages[path].dev)
  for (const name of named('dependencies')) assert.ok(installed.includes(`node_modules/${name}`), name)
  assert.ok(named('dependencies').includes('node'))
})

test('docs/dependencies.md: code written by hand is where the page says', () => {
  const places = [...page.matchAll(/`(server\/src\/[^`]+)`/g)].map(([, place = '']) => place)
  assert.notDeepEqual(places, [])
  assert.deepEqual(
    places.filter(place => !existsSync(join(root, place))),
    [],
  )
})
