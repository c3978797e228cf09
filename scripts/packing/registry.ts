import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { globSync, readFileSync, statSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type PackedFile, tarball } from './tarball.ts'

const root = join(import.meta.dirname, '../..')

/** A registry, for tests, of the packages that this clone has installed; of the Node packages it has one that starts ours. */
export class InstalledRegistry {
  readonly #server: Server
  readonly #tarballs = new Map<string, Buffer>()

  private constructor() {
    this.#server = createServer((request, response) => {
      const [, encoded = '', isTarball] = /^\/([^/]+?)(\.tgz)?$/.exec(request.url ?? '') ?? []
      // Names of packages with a scope have a slash.
      const name = decodeURIComponent(encoded)
      try {
        response.end(isTarball ? this.#tarballOf(name) : JSON.stringify(this.#about(name)))
      } catch {
        response.writeHead(404).end('{}')
      }
    })
  }

  static async start(): Promise<InstalledRegistry> {
    const registry = new InstalledRegistry()
    await once(registry.#server.listen(0, '127.0.0.1'), 'listening')
    return registry
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  #about(name: string): unknown {
    const manifest = JSON.parse(manifestOf(name).toString())
    const integrity = `sha512-${createHash('sha512').update(this.#tarballOf(name)).digest('base64')}`
    const dist = { tarball: `${this.url}/${encodeURIComponent(name)}.tgz`, integrity }
    return {
      name,
      'dist-tags': { latest: manifest.version },
      versions: { [manifest.version]: { ...manifest, dist } },
    }
  }

  #tarballOf(name: string): Buffer {
    const known = this.#tarballs.get(name)
    if (known !== undefined) return known
    const packed = tarball(filesOf(name))
    this.#tarballs.set(name, packed)
    return packed
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

const manifestOf = (name: string): Buffer => readFileSync(join(root, 'node_modules', name, 'package.json'))

const filesOf = (name: string): PackedFile[] => {
  if (name.startsWith('node-')) {
    const start = Buffer.from(`#!/bin/sh\nexec '${process.execPath}' "$@"\n`)
    return [
      { path: 'package.json', bytes: manifestOf(name) },
      { path: 'bin/node', bytes: start, isProgram: true },
    ]
  }
  const folder = join(root, 'node_modules', name)
  return globSync('**/*', { cwd: folder })
    .filter(path => statSync(join(folder, path)).isFile())
    .map(path => ({ path, bytes: readFileSync(join(folder, path)) }))
}
