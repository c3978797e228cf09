import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { readmeExamples } from '../client/test/readme-examples.ts'
import { inShortRun } from '../server/test/rig/long-run.ts'
import { temporaryFolder } from '../server/test/rig/temporary-folder.ts'
import { clientFiles } from './packing/client-files.ts'
import { tarball } from './packing/tarball.ts'

const root = join(import.meta.dirname, '..')
const files = clientFiles()
const codeOf = (ending: string): string =>
  files
    .filter(({ path }) => path.endsWith(ending))
    .map(({ bytes }) => String(bytes))
    .join('')

describe('the tarball of the client', () => {
  test('it is the same in whatever order files are found, has at most 40 kB, and needs no package (client/README.md)', () => {
    const packed = tarball(files)
    assert.ok(packed.equals(tarball(files.toReversed())))
    assert.ok(packed.length <= 40_000, String(packed.length))
    const {
      engines,
      exports,
      dependencies,
      scripts,
      sideEffects,
      private: isPrivate,
    } = JSON.parse(String(files.find(({ path }) => path === 'package.json')?.bytes))
    assert.deepEqual(
      { engines, exports, dependencies, scripts, sideEffects, isPrivate },
      {
        engines: { node: '>=20' },
        exports: { '.': { types: './src/main.d.ts', default: './src/main.js' } },
        dependencies: undefined,
        scripts: undefined,
        sideEffects: false,
        isPrivate: undefined,
      },
    )
    const others = files.map(({ path }) => path).filter(path => !/^src\/.*\.(?:js|d\.ts)$/.test(path))
    assert.deepEqual(others.sort(), ['LICENSE', 'README.md', 'package.json'])
  })

  test('it imports nothing but itself, and asks for nothing of Node (client/README.md)', () => {
    const code = codeOf('.js')
    const imported = [...code.matchAll(/\b(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, name = '']) => name)
    assert.ok(imported.length > 10)
    for (const name of imported) assert.match(name, /^\.\.?\//)
    assert.doesNotMatch(code, /\bprocess\b|\bBuffer\b|\brequire\(/)
  })

  // Minified by `npm run test:client -- --size`, it is about three quarters of this.
  test('compressed as it is, the code has at most 10.5 kB (client/README.md)', () => {
    const { length } = gzipSync(codeOf('.js'), { level: 9 })
    assert.ok(length <= 10_500, String(length))
  })
})

describe('the types of the client', { timeout: 60_000 }, () => {
  const folder = temporaryFolder()
  const at = (...path: string[]): string => join(folder.path, ...path)
  before(() => {
    for (const { path, bytes } of files) {
      const file = at('node_modules/strongroom-client', path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, bytes)
    }
    for (const name of ['@types', 'undici-types'])
      symlinkSync(join(root, 'node_modules', name), at('node_modules', name))
    writeFileSync(at('package.json'), '{ "type": "module" }')
    writeFileSync(at('examples.ts'), readmeExamples('strongroom-client'))
    writeFileSync(
      at('mistakes.ts'),
      `import { Vault } from 'strongroom-client'
const vault = new Vault({ baseUrl: '' })
vault.tokens.create({ type: 'card', data: { numbr: '4242424242424242' } })
vault.tokens.create({ type: 'crad', data: 1 })
vault.tokens.update('a', { metdata: {} })
vault.tokens.list({ container: 7 })
vault.tokenize(['a']).then(([id]) => id.type)
vault.tokenize({ a: { type: 'token', data: 1 } } as const).then(({ a }) => a.id.length)
`,
    )
  })
  after(folder.remove)

  const compile = async (file: string, types: string, ...lib: string[]): Promise<string> => {
    const options = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--target', 'es2022']
    const modules = ['--module', 'nodenext', '--types', types, '--lib', ['es2023', ...lib].join(',')]
    const args = [join(root, 'node_modules/.bin/tsc'), ...options, ...modules, at(file)]
    const child = spawn(process.execPath, args, { cwd: folder.path, stdio: ['ignore', 'pipe', 'inherit'] })
    return text(child.stdout)
  }

  test('the examples fit them with the types of Node, and with those of browsers as well (client/README.md)', async () => {
    assert.equal(await compile('examples.ts', 'node'), '')
    assert.equal(await compile('examples.ts', 'node', 'dom'), '')
  })

  test('misspelt fields and types do not fit (client/README.md)', {
    skip: inShortRun,
  }, async () => {
    const lines = [...(await compile('mistakes.ts', 'node')).matchAll(/^mistakes\.ts\((\d+),/gm)].map(
      ([, row]) => row,
    )
    assert.deepEqual(lines, ['3', '4', '5', '6', '7'])
  })
})
