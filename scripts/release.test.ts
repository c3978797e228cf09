import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { inShortRun } from '../server/test/rig/long-run.ts'
import { temporaryFolder } from '../server/test/rig/temporary-folder.ts'
import { notesOf, preparedFiles } from './packing/next-version.ts'
import { packageFiles } from './packing/package-files.ts'
import { InstalledRegistry } from './packing/registry.ts'
import { tarball } from './packing/tarball.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const folder = temporaryFolder()
after(folder.remove)

/** The clone as it is before the release 7.8.9. */
const readUnreleased = (path: string): string =>
  path === 'CHANGELOG.md'
    ? '# Changelog\n\n## 7.8.9 (unreleased)\n\n- New.\n\n## 0.1.0 (2026-01-01)\n\n- Old.\n'
    : read(path)

test('a release changes the version everywhere, and dates the changelog (docs/support.md)', () => {
  const files = preparedFiles(readUnreleased, '7.8.9', '2030-12-31')
  const { version } = JSON.parse(files.get('server/package.json') ?? '')
  const { packages } = JSON.parse(files.get('package-lock.json') ?? '')
  const client = JSON.parse(files.get('client/package.json') ?? '')
  const versions = [version, packages.server.version, client.version, packages.client.version]
  assert.deepEqual([...new Set(versions)], ['7.8.9'])
  assert.match(files.get('CHANGELOG.md') ?? '', /^## 7\.8\.9 \(2030-12-31\)$/m)
  const old = JSON.parse(read('server/package.json')).version
  for (const path of [
    'client/README.md',
    'deploy/compose/compose.yaml',
    'deploy/container/Containerfile',
    'docs/install.md',
  ])
    assert.ok(!files.get(path)?.includes(old) && files.get(path)?.includes('7.8.9'), path)
  assert.match(files.get('deploy/kubernetes/base/kustomization.yaml') ?? '', /newTag: 7\.8\.9$/m)
})

test('files of JSON keep their form (docs/support.md)', () => {
  const { version } = JSON.parse(read('server/package.json'))
  const changelog = `## ${version} (unreleased)\n`
  const files = preparedFiles(
    path => (path === 'CHANGELOG.md' ? changelog : read(path)),
    version,
    '2030-12-31',
  )
  files.delete('CHANGELOG.md')
  for (const [path, content] of files) assert.equal(content, read(path), path)
})

test('a version that the changelog does not expect is refused (docs/support.md)', () => {
  assert.throws(
    () => preparedFiles(readUnreleased, '7.9.0', '2030-12-31'),
    /begins with "## 7\.8\.9 \(unreleased\)"/,
  )
  assert.throws(() => preparedFiles(readUnreleased, 'v7', '2030-12-31'), /not a version/)
})

test('the notes of a release are its section of the changelog, which must have a date (docs/support.md)', () => {
  assert.equal(notesOf(readUnreleased('CHANGELOG.md'), '0.1.0'), '- Old.\n')
  assert.throws(() => notesOf(readUnreleased('CHANGELOG.md'), '7.8.9'), /prepare 7\.8\.9 first/)
})

/** In a process of its own, because it waits for npm, and the registry is in this one. */
const billOf = async (registry: string, time: string): Promise<string> => {
  const path = join(folder.path, 'strongroom.tgz')
  writeFileSync(path, tarball(packageFiles()))
  const make = `
    import { readFileSync } from 'node:fs'
    import { billOfMaterials } from './scripts/packing/bill-of-materials.ts'
    const [path, time] = process.argv.slice(1)
    process.stdout.write(billOfMaterials('strongroom', path, readFileSync(path), new Date(time)))`
  const env = { ...process.env, npm_config_registry: registry, npm_config_cache: join(folder.path, 'cache') }
  const child = spawn(process.execPath, ['--input-type=module', '-e', make, path, time], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [bill] = await Promise.all([text(child.stdout), once(child, 'close')])
  return bill
}

test('the bill of materials has every package that an installation has, and is the same twice (docs/support.md)', {
  skip: inShortRun,
  timeout: 60_000,
}, async () => {
  const registry = await InstalledRegistry.start()
  try {
    const bill = await billOf(registry.url, '2030-12-31T00:00:00Z')
    assert.equal(await billOf(registry.url, '2030-12-31T00:00:00Z'), bill)
    for (const absent of [folder.path, '/strongroom-bill-', '127.0.0.1'])
      assert.ok(!bill.includes(absent), absent)
    const { bomFormat, metadata, components } = JSON.parse(bill)
    assert.equal(bomFormat, 'CycloneDX')
    assert.equal(
      metadata.component.purl,
      `pkg:npm/strongroom@${JSON.parse(read('server/package.json')).version}`,
    )
    const { packages } = JSON.parse(read('package-lock.json'))
    const locked = Object.entries<{ version: string; dev?: boolean; link?: boolean }>(packages)
      .filter(([path, { dev, link }]) => /^node_modules\//.test(path) && !dev && !link)
      .map(([path, { version }]) => `${path.replace('node_modules/', '')}@${version}`)
      .filter(name => !/^node-(bin-)?(linux|darwin)-/.test(name))
    assert.ok(locked.length > 10)
    assert.deepEqual(
      components
        .map((component: { name: string; version: string }) => `${component.name}@${component.version}`)
        .sort(),
      locked.sort(),
    )
  } finally {
    registry.close()
  }
})
