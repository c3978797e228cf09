import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { billOfMaterials } from './packing/bill-of-materials.ts'
import { clientFiles } from './packing/client-files.ts'
import { notesOf, preparedFiles } from './packing/next-version.ts'
import { packageFiles } from './packing/package-files.ts'
import { tarball } from './packing/tarball.ts'

const usage = `Usage: npm run release -- prepare <version>         puts version and date where they belong; commit and tag the result
       npm run release -- build <folder> [<tag>]    makes tarballs, bills of materials, notes and SHA256SUMS of what is committed
`

const root = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const git = (...args: string[]): string => {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`)
  return stdout.trim()
}

const prepare = (version: string): void => {
  const day = new Date().toISOString().slice(0, 10)
  for (const [path, text] of preparedFiles(read, version, day)) writeFileSync(join(root, path), text)
  process.stdout.write(
    `Look at it, then:\n  git commit --all --message 'Release ${version}'\n  git tag --sign v${version} --message 'Strongroom ${version}'\n`,
  )
}

const build = (folder: string, tag: string | undefined): void => {
  const { version } = JSON.parse(read('server/package.json'))
  if (tag !== undefined && tag !== `v${version}`)
    throw new Error(`the tag ${tag} is not that of version ${version}`)
  // Whoever builds the tag again must get the same bytes.
  if (git('status', '--porcelain') !== '') throw new Error('there are changes that are not committed')
  const notes = notesOf(read('CHANGELOG.md'), version)
  const committedAt = new Date(Number(git('log', '-1', '--format=%ct')) * 1_000)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const write = (name: string, content: string | Buffer): string => {
    writeFileSync(join(folder, name), content)
    return `${createHash('sha256').update(content).digest('hex')}  ${name}\n`
  }
  const sums: string[] = []
  for (const [name, files] of [
    ['strongroom', packageFiles()],
    ['strongroom-client', clientFiles()],
  ] as const) {
    const packed = `${name}-${version}.tgz`
    const bytes = tarball(files)
    sums.push(write(packed, bytes))
    const bill = billOfMaterials(name, join(folder, packed), bytes, committedAt)
    sums.push(write(`${name}-${version}.cdx.json`, bill))
  }
  sums.push(write(`verify-log-${version}.js`, read('server/bin/verify-log.js')))
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
  // For the host's page, and no part of what is downloaded.
  writeFileSync(join(folder, 'notes.md'), notes)
  process.stdout.write(sums.join(''))
}

const [command, argument, tag] = process.argv.slice(2)
try {
  if (command === 'prepare' && argument !== undefined) prepare(argument)
  else if (command === 'build' && argument !== undefined) build(resolve(argument), tag)
  else {
    process.stderr.write(usage)
    process.exitCode = 2
  }
} catch (error) {
  process.stderr.write(`release: ${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
