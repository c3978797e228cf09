import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { clientFiles } from '../../../scripts/packing/client-files.ts'
import { tarball } from '../../../scripts/packing/tarball.ts'
import { temporaryFolder } from '../../../server/test/rig/temporary-folder.ts'
import { install } from './temporary-install.ts'

const packages = ['esbuild@0.28.2', 'publint@0.3.25', '@arethetypeswrong/cli@0.18.5']
const bundleBytesMax = 8_192

/** What others see of the package: its size in a bundle, and what linters of packages say of it. */
export const checkPackage = async (say: (line: string) => void): Promise<boolean> => {
  const folder = temporaryFolder()
  try {
    if (!install(folder.path, ...packages)) {
      say(`cannot be installed: ${packages.join(', ')}`)
      return false
    }
    const files = clientFiles()
    for (const { path, bytes } of files) {
      const file = join(folder.path, 'node_modules/strongroom-client', path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, bytes)
    }
    writeFileSync(join(folder.path, 'client.tgz'), tarball(files))
    const run = (program: string, ...args: string[]) =>
      spawnSync(join(folder.path, 'node_modules/.bin', program), args, {
        cwd: folder.path,
        maxBuffer: 2 ** 26,
      })
    const sizes = Object.entries({
      everything: "export * from 'strongroom-client'",
      'Vault alone': "export { Vault } from 'strongroom-client'",
      'verifyWebhook alone': "export { verifyWebhook } from 'strongroom-client'",
    }).map(([name, code]) => {
      writeFileSync(join(folder.path, 'bundle.js'), code)
      const { stdout } = run(
        'esbuild',
        'bundle.js',
        '--bundle',
        '--minify',
        '--format=esm',
        '--target=es2022',
      )
      const { length } = gzipSync(stdout, { level: 9 })
      say(`${name}: ${stdout.length} bytes minified, ${length} compressed`)
      return length
    })
    const linted = [
      ['publint', 'client.tgz'],
      // An ESM package is no CommonJS package; newer Nodes require() it all the same.
      ['attw', 'client.tgz', '--profile', 'esm-only'],
    ].map(([program = '', ...args]) => {
      const { status, stdout } = run(program, ...args)
      say(`${program}: ${status === 0 ? 'nothing to say' : stdout.toString()}`)
      return status === 0
    })
    return linted.every(Boolean) && sizes.every(bytes => bytes > 500 && bytes <= bundleBytesMax)
  } finally {
    folder.remove()
  }
}
