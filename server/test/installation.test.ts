import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { temporaryFolder } from './rig/temporary-folder.ts'

const root = join(import.meta.dirname, '../..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const lockfile = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
const runtimes: Record<string, string> = manifest.optionalDependencies
const [ours = ''] = Object.keys(runtimes).filter(name => {
  const { os, cpu } = lockfile.packages[`node_modules/${name}`]
  return os === process.platform && cpu === process.arch
})

/** A package that says it is our runtime, and is a shell script. */
const substitute = (folder: string): Buffer => {
  mkdirSync(join(folder, 'package/bin'), { recursive: true })
  const { os, cpu, bin } = lockfile.packages[`node_modules/${ours}`]
  const named = { name: ours, version: runtimes[ours], os, cpu, bin }
  writeFileSync(join(folder, 'package/package.json'), JSON.stringify(named))
  writeFileSync(join(folder, 'package/bin/node'), '#!/bin/sh\nexit 0\n')
  chmodSync(join(folder, 'package/bin/node'), 0o755)
  assert.equal(spawnSync('tar', ['czf', 'package.tgz', 'package'], { cwd: folder }).status, 0)
  return readFileSync(join(folder, 'package.tgz'))
}

/** What `npm ci` does in a clone that has only the runtime to install, where the registry is ours. */
describe('npm ci', () => {
  const folder = temporaryFolder()
  const tarball = substitute(folder.path)
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`
  const answer: RequestListener = (request, response) => {
    if (request.url?.endsWith('.tgz')) return void response.end(tarball)
    const dist = { tarball: `http://${request.headers.host}/${ours}.tgz`, integrity }
    const versions = { [runtimes[ours] ?? '']: { name: ours, version: runtimes[ours], dist } }
    response.end(JSON.stringify({ name: ours, 'dist-tags': {}, versions }))
  }
  const registry = createServer(answer)
  before(() => once(registry.listen(0, '127.0.0.1'), 'listening'))
  after(() => {
    registry.close()
    folder.remove()
  })

  const install = async (name: string, spoilt: string | undefined) => {
    const clone = join(folder.path, name)
    mkdirSync(join(clone, 'scripts'), { recursive: true })
    copyFileSync(join(root, '.npmrc'), join(clone, '.npmrc'))
    copyFileSync(join(root, 'scripts/after-install.js'), join(clone, 'scripts/after-install.js'))
    const { type, scripts } = manifest
    const entries = Object.keys(runtimes).map(runtime => {
      const locked = lockfile.packages[`node_modules/${runtime}`]
      return [
        `node_modules/${runtime}`,
        { ...locked, ...(spoilt && runtime === ours && { integrity: spoilt }) },
      ]
    })
    const head = { name: 'clone', type, scripts, optionalDependencies: runtimes }
    const packages = { '': head, ...Object.fromEntries(entries) }
    writeFileSync(join(clone, 'package.json'), JSON.stringify(head))
    writeFileSync(join(clone, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }))
    const { port } = registry.address() as AddressInfo
    const flags = [
      `--registry=http://127.0.0.1:${port}`,
      `--cache=${join(clone, 'cache')}`,
      '--fetch-retries=0',
    ]
    const npm = spawn('npm', ['ci', ...flags], { cwd: clone, stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    npm.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    const [code] = await once(npm, 'close')
    return { code, said, isInstalled: existsSync(join(clone, 'node_modules', ours)) }
  }

  test('a runtime other than the one in the lockfile is not installed, and npm ci fails (docs/dependencies.md)', async () => {
    const { code, said, isInstalled } = await install('clone', undefined)
    assert.equal(code, 1)
    assert.match(said, new RegExp(`not as package-lock.json has it: ${ours}`))
    assert.equal(isInstalled, false)
  })

  test('it would be installed if the lockfile had its hash, so the hash keeps it out (docs/dependencies.md)', async () => {
    const { code, said, isInstalled } = await install('fooled', integrity)
    assert.equal(code, 0, said)
    assert.equal(isInstalled, true)
  })

  test('a release of npm that does not link the runtime leaves that to us (docs/dependencies.md)', async () => {
    const cwd = join(folder.path, 'fooled')
    const link = join(cwd, 'node_modules/.bin/node')
    rmSync(link)
    const { status } = spawnSync(process.execPath, ['scripts/after-install.js'], { cwd })
    assert.equal(status, 0)
    assert.equal(realpathSync(link), realpathSync(join(cwd, 'node_modules', ours, 'bin/node')))
  })
})
