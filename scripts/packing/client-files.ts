import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { requireNamedFiles } from './package-files.ts'
import { javaScriptNames, plainJavaScript } from './plain-javascript.ts'
import type { PackedFile } from './tarball.ts'

const root = join(import.meta.dirname, '../..')
const client = join(root, 'client')
const read = (path: string): Buffer => readFileSync(path)

/** Everything that the package `strongroom-client` consists of: the sources without their types, and the types. */
export const clientFiles = (): PackedFile[] => {
  const files = [
    { path: 'package.json', bytes: Buffer.from(`${JSON.stringify(packedManifest(), null, 2)}\n`) },
    { path: 'LICENSE', bytes: read(join(root, 'LICENSE')) },
    { path: 'README.md', bytes: read(join(client, 'README.md')) },
    ...globSync('src/**/*.ts', { cwd: client })
      .map(path => path.replaceAll('\\', '/'))
      // Nothing but types.
      .filter(path => path !== 'src/generated/types.ts')
      .map(packedSource),
    ...declarations(),
  ]
  requireNamedFiles(files.filter(({ path }) => path.endsWith('.js')))
  return files
}

const packedSource = (path: string): PackedFile => ({
  path: path.replace(/\.ts$/, '.js'),
  bytes: Buffer.from(plainJavaScript(read(join(client, path)).toString(), path)),
})

const packedManifest = (): Record<string, unknown> => {
  const { private: _private, ...manifest } = JSON.parse(read(join(client, 'package.json')).toString())
  return { ...manifest, exports: { '.': { types: './src/main.d.ts', default: './src/main.js' } } }
}

/** What TypeScript says of the sources, without any type of Node: those who import it may have none. */
const declarations = (): PackedFile[] => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-types-'))
  try {
    const options = [
      '--noEmit',
      'false',
      '--declaration',
      '--emitDeclarationOnly',
      '--outDir',
      folder,
      '--rootDir',
      client,
    ]
    const args = [join(root, 'node_modules/.bin/tsc'), '-p', client, ...options]
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    if (status !== 0) throw new Error(`tsc failed: ${stdout}${stderr}`)
    return globSync('**/*.d.ts', { cwd: folder }).map(path => ({
      path: path.replaceAll('\\', '/'),
      bytes: Buffer.from(javaScriptNames(read(join(folder, path)).toString())),
    }))
  } finally {
    rmSync(folder, { recursive: true })
  }
}
