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

type Locked = {
  readonly version: string
  readonly integrity?: string
  readonly resolved?: string
  readonly link?: boolean
  readonly dev?: boolean
  readonly inBundle?: boolean
  readonly hasInstallScript?: boolean
  readonly os?: string
  readonly cpu?: string
}

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

test('each dependency has one line that says what it is for and what was weighed against it (docs/dependencies.md)', () => {
  assert.deepEqual(rows('At run time'), named('dependencies', 'optionalDependencies', 'peerDependencies'))
  assert.deepEqual(rows('For development'), named('devDependencies'))
})

const { packages }: { packages: Record<string, Locked> } = JSON.parse(
  readFileSync(join(root, 'package-lock.json'), 'utf8'),
)
const fetched = Object.entries(packages).filter(([path]) => /(^|\/)node_modules\//.test(path))

test('npm ci --omit=dev installs what runs in production, and one version of Node for all platforms (docs/dependencies.md)', () => {
  const runtime = named('dependencies', 'optionalDependencies')
  for (const name of runtime) assert.ok(packages[`node_modules/${name}`]?.dev === undefined, name)
  const nodes = fetched.filter(([path]) => /^node_modules\/node-(bin-)?(linux|darwin)-/.test(path))
  assert.deepEqual(nodes.map(([, { os, cpu }]) => `${os} ${cpu}`).sort(), [
    'darwin arm64',
    'darwin x64',
    'linux arm64',
    'linux x64',
  ])
  assert.equal(new Set(nodes.map(([, { version }]) => version)).size, 1)
  assert.equal(`v${nodes[0]?.[1].version}`, process.version)
})

test('the lockfile holds a hash of each package and no registry (docs/dependencies.md)', () => {
  for (const [path, { link, integrity, resolved, inBundle }] of fetched) {
    if (link) continue
    assert.match(integrity ?? '', /^sha512-/, path)
    assert.equal(resolved, undefined, path)
    assert.equal(inBundle, undefined, path)
  }
})

test('no installation script of a package may run (docs/dependencies.md)', () => {
  const { allowScripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const withScripts = fetched.filter(([, { hasInstallScript }]) => hasInstallScript)
  assert.deepEqual(
    allowScripts,
    Object.fromEntries(withScripts.map(([path]) => [path.replace('node_modules/', ''), false])),
  )
})

test('code written by hand is where the page says (docs/dependencies.md)', () => {
  const places = [...page.matchAll(/`(server\/src\/[^`]+)`/g)].map(([, place = '']) => place)
  assert.notDeepEqual(places, [])
  assert.deepEqual(
    places.filter(place => !existsSync(join(root, place))),
    [],
  )
})
