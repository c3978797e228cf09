import assert from 'node:assert/strict'
import { basename, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Site } from '../rig/program.ts'

describe('a power cut right after a command takes back nothing of what it said is done', () => {
  const site = new Site()
  const folder = basename(site.path)
  before(async () => {
    assert.equal((await site.run(['migrate', ...site.vault])).code, 0)
  })
  after(() => site.remove())

  /** Loaded into the program before anything else: prints when a file or folder is flushed, and when a file gets its name. */
  const watched = {
    NODE_OPTIONS: `--import ${site.file(
      'watched.mjs',
      `import fs, { writeSync } from 'node:fs'
       import { syncBuiltinESMExports } from 'node:module'
       import { basename } from 'node:path'
       const tell = (what, path) =>
         writeSync(1, what + ' ' + basename(path).replace(/[0-9a-f]{16}\\.new$/, 'draft') + '\\n')
       const { fsyncSync, linkSync, openSync, renameSync } = fs
       const paths = new Map()
       fs.openSync = (path, ...more) => {
         const handle = openSync(path, ...more)
         paths.set(handle, path)
         return handle
       }
       fs.fsyncSync = handle => {
         fsyncSync(handle)
         tell('flushed', paths.get(handle))
       }
       fs.linkSync = (from, to) => {
         linkSync(from, to)
         tell('named', to)
       }
       fs.renameSync = (from, to) => {
         renameSync(from, to)
         tell('named', to)
       }
       syncBuiltinESMExports()`,
    )}`,
  }
  const stepsOf = async (...args: string[]): Promise<string[]> => {
    const { code, stdout, stderr } = await site.run(args, watched)
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    return stdout.trimEnd().split('\n')
  }

  test('backup: the copy is flushed before it gets its name, and then the name (C35)', async () => {
    const file = join(site.path, 'backup.db')
    assert.deepEqual(await stepsOf('backup', file, ...site.vault), [
      'flushed vault.db',
      'named backup.db',
      `flushed ${folder}`,
      `${site.data} is backed up in ${file}; the master key is not in it`,
    ])
  })

  test('master-key: the new file is flushed before it gets its name, and then the name (C34.3)', async () => {
    const file = join(site.path, 'other.key')
    const steps = await stepsOf('master-key', '--master-key-file', file)
    assert.deepEqual(steps.slice(0, -1), ['flushed other.key.draft', 'named other.key', `flushed ${folder}`])
  })

  test('a rotation: no master key leaves its file before it is kept elsewhere, and each new file is flushed before it replaces the old one (C14.4)', async () => {
    const replaced = ['flushed master.key.draft', 'named master.key', `flushed ${folder}`]
    const added = await stepsOf('master-key', 'add', ...site.vault)
    assert.deepEqual(added.slice(0, -1), replaced)
    assert.equal((await site.run(['master-key', 'rewrap', ...site.vault])).code, 0)
    const retired = await stepsOf('master-key', 'retire', ...site.vault)
    assert.deepEqual(retired.slice(0, -1), ['flushed master.key.retired', `flushed ${folder}`, ...replaced])
  })
})
