import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { guideNames } from '../../server/src/http/docs/guides.ts'
import { namedFiles, plainJavaScript } from './plain-javascript.ts'
import type { PackedFile } from './tarball.ts'

const root = join(import.meta.dirname, '../..')
const server = join(root, 'server')
const read = (path: string): Buffer => readFileSync(path)

/** Everything that the package `strongroom` consists of. */
export const packageFiles = (): PackedFile[] => {
  const files = [
    { path: 'package.json', bytes: Buffer.from(`${JSON.stringify(packedManifest(), null, 2)}\n`) },
    { path: 'LICENSE', bytes: read(join(root, 'LICENSE')) },
    { path: 'README.md', bytes: read(join(server, 'README.md')) },
    { path: 'src/testing.d.ts', bytes: read(join(server, 'src/testing-types.d.ts')) },
    { path: 'bin/verify-log.js', bytes: read(join(server, 'bin/verify-log.js')), isProgram: true },
    { ...packedSource('bin/strongroom.js'), isProgram: true },
    ...guideNames.map(name => ({ path: `docs/${name}.md`, bytes: read(join(root, `docs/${name}.md`)) })),
    ...globSync('src/**/*.ts', { cwd: server, exclude: ['src/**/*.d.ts'] }).map(path =>
      packedSource(path.replaceAll('\\', '/')),
    ),
  ]
  requireNamedFiles(files)
  return files
}

const packedSource = (path: string): PackedFile => ({
  path: path.replace(/\.ts$/, '.js'),
  bytes: Buffer.from(plainJavaScript(read(join(server, path)).toString(), path)),
})

/** That of the workspace without what only a clone has, and with what others may import. */
const packedManifest = (): Record<string, unknown> => {
  const { private: _private, ...manifest } = JSON.parse(read(join(server, 'package.json')).toString())
  return {
    ...manifest,
    // A clone brings its own Node, so there an older one is fine.
    engines: { node: '>=26' },
    exports: { './testing': { types: './src/testing.d.ts', default: './src/testing.js' } },
  }
}

/** A name that was not rewritten, or a file left out, would be noticed only when it is needed. */
export const requireNamedFiles = (files: readonly PackedFile[]): void => {
  const paths = new Set(files.map(({ path }) => path))
  for (const { path, bytes } of files) {
    if (!path.endsWith('.js') || path === 'bin/verify-log.js') continue
    for (const name of namedFiles(Buffer.from(bytes).toString())) {
      const target = posix.join(posix.dirname(path), name)
      if (!paths.has(target)) throw new Error(`${path} names ${target}, which is not in the package`)
    }
  }
}
