import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import client from '../client/package.json' with { type: 'json' }
import server from '../server/package.json' with { type: 'json' }
import { clientFiles } from './packing/client-files.ts'
import { packageFiles } from './packing/package-files.ts'
import { tarball } from './packing/tarball.ts'

/** npm run pack [folder]: writes the packages as tarballs, and prints their paths, sizes and hashes. */
const folder = process.argv[2] ?? 'build'
mkdirSync(folder, { recursive: true })
for (const [{ name, version }, files] of [
  [server, packageFiles()],
  [client, clientFiles()],
] as const) {
  const bytes = tarball(files)
  const path = join(folder, `${name}-${version}.tgz`)
  writeFileSync(path, bytes)
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  process.stdout.write(`${path}  ${bytes.length} bytes  sha256 ${sha256}\n`)
}
