import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import fs, {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { after, beforeEach, describe, test } from 'node:test'
import { addMasterKey } from '../../src/keys/file/add-master-key.ts'
import { createMasterKeyFile } from '../../src/keys/file/create-master-key-file.ts'
import { fileKeyProvider } from '../../src/keys/file/file-key-provider.ts'
import { readMasterKeyFile } from '../../src/keys/file/read-master-key-file.ts'
import { retireMasterKeys } from '../../src/keys/file/retire-master-keys.ts'
import { KeyProviderError } from '../../src/keys/key-provider.ts'
import { newMasterKeyText } from '../../src/keys/master-key.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { keyProviderContract } from './key-provider-contract.ts'

const folder = temporaryFolder()
let files = 0
const newPath = (): string => join(folder.path, `master-${files++}.key`)
/** Of the files whose names begin like this one's. */
const namesLike = (path: string): string[] =>
  readdirSync(dirname(path)).filter(name => name.startsWith(basename(path)))
const newFile = (): string => {
  const path = newPath()
  createMasterKeyFile(path)
  return path
}
after(() => folder.remove())

keyProviderContract('file', async () => ({
  provider: fileKeyProvider(newFile()),
  stranger: fileKeyProvider(newFile()),
}))

describe('the master key file', () => {
  let path: string
  beforeEach(() => {
    path = newFile()
  })
  const refusal = (message: string | RegExp) => (error: unknown) => {
    assert.ok(error instanceof KeyProviderError)
    assert.match(error.message, typeof message === 'string' ? new RegExp(message) : message)
    return true
  }

  test('it is created for its owner only, whatever the umask, and no two are alike (C34.3)', () => {
    const umask = process.umask(0)
    try {
      const open = newFile()
      assert.equal(statSync(open).mode & 0o777, 0o600)
    } finally {
      process.umask(umask)
    }
    assert.notEqual(readFileSync(path, 'utf8'), readFileSync(newFile(), 'utf8'))
    assert.match(readFileSync(path, 'utf8'), /^strongroom-master-key-1:[A-Za-z0-9+/]{43}=\n$/)
  })

  test('it is never overwritten (C34.3)', () => {
    const before = readFileSync(path)
    assert.throws(() => createMasterKeyFile(path), { code: 'EEXIST' })
    assert.deepEqual(readFileSync(path), before)
    writeFileSync(path, '')
    assert.throws(() => createMasterKeyFile(path), { code: 'EEXIST' })
    assert.equal(readFileSync(path, 'utf8'), '')
  })

  for (const mode of [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o666, 0o777])
    test(`one that is open to others (${mode.toString(8)}) is refused with the command that fixes it (C34.3)`, async () => {
      chmodSync(path, mode)
      assert.throws(() => fileKeyProvider(path), refusal(`run chmod 600 ${path}$`))
      chmodSync(path, 0o600)
      const provider = fileKeyProvider(path)
      chmodSync(path, mode)
      await assert.rejects(provider.health(), refusal(`run chmod 600 ${path}$`))
    })

  test('one that only its owner may read is accepted (C34.3)', async () => {
    chmodSync(path, 0o400)
    await fileKeyProvider(path).health()
  })

  test('another one in its place is reported, before a restart that would open nothing (C36.2)', async () => {
    const provider = fileKeyProvider(path)
    await provider.health()
    writeFileSync(path, readFileSync(newFile()))
    await assert.rejects(provider.health(), refusal(/holds another master key than at the start$/))
  })

  test('a pipe or a device in its place is refused without being read (C36.2)', () => {
    const pipe = newPath()
    execFileSync('mkfifo', ['-m', '600', pipe])
    for (const other of [pipe, '/dev/null'])
      assert.throws(() => fileKeyProvider(other), refusal(/ is not a file$/))
  })

  test('a missing one is reported, at the start and later (C36.2)', async () => {
    const says =
      /does not exist: strongroom master-key makes one; for a vault that exists, restore it from your backup$/
    assert.throws(() => fileKeyProvider(newPath()), refusal(says))
    const provider = fileKeyProvider(path)
    rmSync(path)
    await assert.rejects(provider.health(), refusal(says))
    assert.throws(
      () => fileKeyProvider(folder.path),
      refusal(/cannot be read \(EISDIR\): restore it from your backup$/),
    )
  })

  const wrongContents: Record<string, (right: string) => string> = {
    'is empty': () => '',
    'has lost its end': right => right.trim().slice(0, -12),
    'has lost its beginning': right => right.slice(10),
    'has no key': () => 'strongroom-master-key-1:\n',
    'has another prefix': right => right.replace('key-1', 'key-2'),
    'has a key that is too long': right => right.replace(/=\n$/, 'AAAA\n'),
    'is something else': () => '-----BEGIN PRIVATE KEY-----\n',
  }
  for (const [name, change] of Object.entries(wrongContents))
    test(`one that ${name} is refused without revealing its content (C34.3)`, () => {
      const content = change(readFileSync(path, 'utf8'))
      writeFileSync(path, content)
      assert.throws(
        () => fileKeyProvider(path),
        (error: unknown) => {
          refusal(/does not hold a master key: restore it from your backup$/)(error)
          const secret = content.split(':')[1]?.trim() ?? ''
          assert.ok(secret === '' || !(error as Error).message.includes(secret))
          return true
        },
      )
    })

  test('the error for a wrong one says what to restore (C31.7)', async () => {
    const wrapped = await fileKeyProvider(newFile()).wrap(new Uint8Array(32), 'a context')
    await assert.rejects(
      fileKeyProvider(path).unwrap(wrapped, 'a context'),
      refusal('\\.key: restore the one that belongs to this storage$'),
    )
  })

  test('the error for storage from before a rotation leads to doctor, not to the retired file in the place of the other (docs/running.md)', async () => {
    const wrapped = await fileKeyProvider(path).wrap(new Uint8Array(32), 'a context')
    addMasterKey(path)
    retireMasterKeys(path)
    await assert.rejects(
      fileKeyProvider(path).unwrap(wrapped, 'a context'),
      refusal(
        ': if a rotation has retired the key that it needs, do as strongroom doctor says; otherwise restore the one that belongs to this storage$',
      ),
    )
  })

  describe('a rotation', () => {
    const key = new Uint8Array(32).fill(7)
    const linesOf = (file: string): string[] => readFileSync(file, 'utf8').trim().split('\n')

    test('a running provider wraps with the new key at once, and opens what either has wrapped (C14.4)', async () => {
      const running = fileKeyProvider(path)
      const wrapped = await running.wrap(key, 'a')
      addMasterKey(path)
      const again = await running.wrap(key, 'a')
      for (const provider of [running, fileKeyProvider(path)]) {
        assert.deepEqual(Uint8Array.from(await provider.unwrap(wrapped, 'a')), key)
        assert.deepEqual(Uint8Array.from(await provider.unwrap(again, 'a')), key)
        assert.deepEqual(
          [await provider.isCurrent(wrapped, 'a'), await provider.isCurrent(again, 'a')],
          [false, true],
        )
        await provider.health()
      }
    })

    test('a provider that knows only the old key opens what another machine has wrapped with the new one (C14.4)', async () => {
      const running = fileKeyProvider(path)
      addMasterKey(path)
      const wrapped = await fileKeyProvider(path).wrap(key, 'a')
      assert.deepEqual(Uint8Array.from(await running.unwrap(wrapped, 'a')), key)
    })

    test('while the file is away nothing is wrapped, and what was open still opens (C14.4)', async () => {
      const running = fileKeyProvider(path)
      const wrapped = await running.wrap(key, 'a')
      rmSync(path)
      await assert.rejects(running.wrap(key, 'a'), refusal(/does not exist/))
      assert.deepEqual(Uint8Array.from(await running.unwrap(wrapped, 'a')), key)
    })

    test('it adds keys on top, for the owner only, and changes none (C14.4)', () => {
      const [first] = linesOf(path)
      createMasterKeyFile(`${path}.new`)
      const another = readFileSync(`${path}.new`)
      addMasterKey(path)
      const [second, ...below] = linesOf(path)
      assert.deepEqual(below, [first])
      addMasterKey(path)
      assert.deepEqual(linesOf(path).slice(1), [second, first])
      assert.equal(new Set(linesOf(path)).size, 3)
      assert.equal(statSync(path).mode & 0o777, 0o600)
      assert.deepEqual(readFileSync(`${path}.new`), another, 'the file of another key is not touched')
      assert.deepEqual(namesLike(path), [basename(path), `${basename(path)}.new`], 'no draft is left')
    })

    test('a file that is reached through a link is changed in its place (C14.4)', () => {
      const link = newPath()
      symlinkSync(path, link)
      addMasterKey(link)
      assert.ok(lstatSync(link).isSymbolicLink())
      assert.equal(linesOf(path).length, 2)
    })

    test('the file stays its owner’s (C14.4)', { skip: process.getuid?.() !== 0 && 'needs root' }, () => {
      chownSync(path, 65_534, 65_534)
      addMasterKey(path)
      retireMasterKeys(path)
      for (const file of [path, `${path}.retired`])
        assert.deepEqual([statSync(file).uid, statSync(file).gid], [65_534, 65_534])
    })

    test('retired keys leave the file, and are kept in another (C14.4)', async () => {
      const running = fileKeyProvider(path)
      const [old = ''] = linesOf(path)
      addMasterKey(path)
      const [next = ''] = linesOf(path)
      await running.health()
      const retired = `${path}.retired`
      assert.equal(retireMasterKeys(path), 1)
      const [first, mark = '', ...more] = linesOf(path)
      assert.deepEqual([first, more, linesOf(retired)], [next, [], [old]])
      assert.match(mark, /^strongroom-retired-key-1:[0-9a-f]{64}$/)
      assert.equal(statSync(retired).mode & 0o777, 0o600)
      assert.equal(retireMasterKeys(path), 0)
      await running.health()

      writeFileSync(path, `${newMasterKeyText()}\n${next}\n${old}\n`)
      assert.equal(retireMasterKeys(path), 2)
      assert.deepEqual(linesOf(retired), [old, next], 'each once')

      writeFileSync(retired, old)
      writeFileSync(path, `${newMasterKeyText()}\n${next}\n`)
      assert.equal(retireMasterKeys(path), 1)
      assert.deepEqual(linesOf(retired), [old, next], 'each in a line of its own')
    })

    test('a running provider follows rotations that it has seen nothing of until they were over (C14.4)', async () => {
      const running = fileKeyProvider(path)
      const wrapped = await running.wrap(key, 'a')
      for (let rotation = 0; rotation < 3; rotation++) {
        addMasterKey(path)
        assert.equal(retireMasterKeys(path), 1)
      }
      assert.equal(linesOf(path).length, 4)
      const again = await fileKeyProvider(path).wrap(key, 'a')
      assert.deepEqual(Uint8Array.from(await running.unwrap(again, 'a')), key)
      assert.equal(await running.isCurrent(await running.wrap(key, 'a'), 'a'), true)
      await running.health()
      await assert.rejects(running.unwrap(wrapped, 'a'), refusal(/does not open with the master key/))

      const stranger = newFile()
      addMasterKey(stranger)
      retireMasterKeys(stranger)
      writeFileSync(path, readFileSync(stranger))
      await assert.rejects(running.health(), refusal(/holds another master key than at the start$/))
    })

    test('keys that cannot be kept are not retired (C14.4)', () => {
      addMasterKey(path)
      const before = readFileSync(path)
      mkdirSync(`${path}.retired`)
      assert.throws(
        () => retireMasterKeys(path),
        refusal(/cannot be kept in \S+\.retired \(EISDIR\), so nothing was changed$/),
      )
      assert.deepEqual(readFileSync(path), before)
    })

    test('keys are not kept through a link, whose file would be given to the owner of the key (C14.4)', () => {
      addMasterKey(path)
      const before = readFileSync(path)
      const other = newPath()
      writeFileSync(other, 'of another user', { mode: 0o644 })
      symlinkSync(other, `${path}.retired`)
      assert.throws(
        () => retireMasterKeys(path),
        refusal(/cannot be kept in \S+\.retired \(ELOOP\), so nothing was changed$/),
      )
      assert.deepEqual(readFileSync(path), before)
      assert.equal(readFileSync(other, 'utf8'), 'of another user')
      assert.equal(statSync(other).mode & 0o777, 0o644)
    })

    test('a file that cannot be replaced is left as it was (C14.4)', () => {
      // As long as a name may be, so that nothing can be made beside it.
      const long = join(dirname(path), 'x'.repeat(255))
      renameSync(path, long)
      path = long
      const before = readFileSync(path)
      assert.throws(
        () => addMasterKey(path),
        refusal(/cannot be replaced \(\w+\): do it by hand, put a new one/),
      )
      assert.deepEqual(readFileSync(path), before)
      chmodSync(path, 0o644)
      assert.throws(() => addMasterKey(path), refusal(`run chmod 600 ${path}$`))
      assert.deepEqual(readFileSync(path), before)
    })

    /** Calls it where no file may become longer than one block, of 512 or 1,024 bytes: from there on a write writes less. */
    const withoutRoom = (file: string, name: string): string => {
      const module = new URL(`../../src/keys/file/${file}`, import.meta.url)
      const code = `const { ${name} } = await import(${JSON.stringify(module)}); ${name}(${JSON.stringify(path)})`
      const limited = [
        '-c',
        'ulimit -f 1; exec "$@"',
        'sh',
        process.execPath,
        '--input-type=module',
        '-e',
        code,
      ]
      const { status, stderr } = spawnSync('/bin/sh', limited, { encoding: 'utf8' })
      assert.notEqual(status, 0, 'it says that it failed')
      return stderr
    }
    const twentyKeys = (): string => Array.from({ length: 20 }, () => `${newMasterKeyText()}\n`).join('')

    test('a disk that takes only a part of the new file leaves it as it was (C14.4)', () => {
      writeFileSync(path, twentyKeys())
      const before = readFileSync(path, 'utf8')
      assert.match(
        withoutRoom('add-master-key.ts', 'addMasterKey'),
        /cannot be replaced \(EFBIG\): do it by hand, put a new one/,
      )
      assert.equal(readFileSync(path, 'utf8'), before)
      assert.deepEqual(namesLike(path), [basename(path)])
    })

    test('a disk that takes only a part of the retired keys leaves both files as they were (C14.4)', () => {
      const kept = `${newMasterKeyText()}\n`
      writeFileSync(path, twentyKeys())
      writeFileSync(`${path}.retired`, kept, { mode: 0o600 })
      const before = readFileSync(path, 'utf8')
      assert.match(
        withoutRoom('retire-master-keys.ts', 'retireMasterKeys'),
        /cannot be kept in \S+\.retired \(EFBIG\), so nothing was changed/,
      )
      assert.equal(readFileSync(path, 'utf8'), before)
      assert.equal(readFileSync(`${path}.retired`, 'utf8'), kept)
      assert.deepEqual(namesLike(path), [basename(path), `${basename(path)}.retired`])
    })

    /** What another command meets that starts when the first is about to give the new file its name. */
    const inTheMiddle = (first: () => void, second: () => void): unknown => {
      const { renameSync } = fs
      let met: unknown
      fs.renameSync = (from, to) => {
        fs.renameSync = renameSync
        syncBuiltinESMExports()
        try {
          second()
        } catch (error) {
          met = error
        }
        renameSync(from, to)
      }
      syncBuiltinESMExports()
      first()
      return met
    }
    for (const [name, change] of Object.entries({ addMasterKey, retireMasterKeys }))
      test(`of two commands at the same moment (${name} during an add) the second is refused, and no key is lost (C14.4)`, () => {
        addMasterKey(path)
        const before = linesOf(path)
        const met = inTheMiddle(
          () => addMasterKey(path),
          () => void change(path),
        )
        refusal(
          /another command changes the master key file \S+: try again; if none does, run rm \S+\.lock first$/,
        )(met)
        assert.deepEqual(linesOf(path).slice(1), before)
        assert.deepEqual(namesLike(path), [basename(path)], 'no lock is left')
        change(path)
      })

    test('a key that was added after the caller looked is not the one that stays alone (C14.4)', () => {
      addMasterKey(path)
      const known = readMasterKeyFile(path)
      addMasterKey(path)
      const before = linesOf(path)
      assert.throws(
        () => retireMasterKeys(path, known),
        refusal(/has changed meanwhile, so nothing was retired/),
      )
      assert.deepEqual(linesOf(path), before)
      assert.deepEqual(namesLike(path), [basename(path)])
    })
  })
})
