import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../server/package.json' with { type: 'json' }
import { packageFiles } from './packing/package-files.ts'
import { tarball } from './packing/tarball.ts'

/** npm run pack [folder]: writes the package as a tarball, and prints its path, size and hash. */
const folder = process.argv[2] ?? 'build'
const bytes = tarball(packageFiles())
mkdirSync(folder, { recursive: true })
const path = join(folder, `${manifest.name}-${manifest.version}.tgz`)
writeFileSync(path, bytes)
const sha256 = createHash('sha256').update(bytes).digest('hex')
process.stdout.write(`${path}  ${bytes.length} bytes  sha256 ${sha256}\n`)
