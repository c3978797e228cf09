import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, describe, test } from 'node:test'
import { createMasterKeyFile } from '../../src/keys/file/create-master-key-file.ts'
import { newMasterKeyText } from '../../src/keys/master-key.ts'
import { assertRefused, call, Site } from '../rig/program.ts'
import { assertAbsent } from '../rig/traces.ts'

describe('master-key', () => {
  const site = new Site()
  after(() => site.remove())
  /** Makes a vault under the key, and opens it again with the key. */
  const uses = async (flags: string[], env: Record<string, string> = {}): Promise<void> => {
    for (const command of [['migrate'], ['tenant', 'create', '--name', 'T'], ['tenant', 'list']])
      assert.equal((await site.run([...command, ...flags], env)).code, 0)
  }

  test('prints a key that the provider env accepts, a different one each time (C35.1)', async () => {
    const [one, other] = [await site.run(['master-key']), await site.run(['master-key'])]
    assert.match(one.stdout, /^strongroom-master-key-1:[A-Za-z0-9+/]{43}=\n$/)
    assert.notEqual(one.stdout, other.stdout)
    await uses(['--data', site.data, '--key-provider', 'env'], { STRONGROOM_MASTER_KEY: one.stdout.trim() })
  })

  test('makes a file and its folder, which only their owner may read, and never overwrites the file (C34.3)', async () => {
    const file = join(site.path, 'etc/strongroom/master.key')
    const made = await site.shell(`umask 000; strongroom master-key --master-key-file ${file}`)
    assert.equal(made.code, 0)
    assert.match(made.stdout, /^a new master key is in \S+master\.key; keep a copy apart from the data\n$/)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.equal(statSync(join(file, '..')).mode & 0o777, 0o700)
    const key = readFileSync(file, 'utf8')
    assertAbsent({ stdout: made.stdout }, [key.trim().split(':')[1] ?? ''])

    const again = await site.run(['master-key', '--master-key-file', file])
    assertRefused(again, 2, /master\.key exists and is not overwritten/)
    assert.equal(readFileSync(file, 'utf8'), key)
    await uses(['--data', join(site.path, 'other'), '--key-provider', 'file', '--master-key-file', file])
  })

  /** Loaded into the program before anything else. */
  const meddling = (name: string, code: string): Record<string, string> => {
    const start = "import fs from 'node:fs'\nimport { syncBuiltinESMExports } from 'node:module'\n"
    return { NODE_OPTIONS: `--import ${site.file(name, `${start}${code}\nsyncBuiltinESMExports()`)}` }
  }
  const draftsOf = (file: string): string[] =>
    readdirSync(dirname(file)).filter(name => name.startsWith(`${basename(file)}.`))
  const make = (file: string): string[] => ['master-key', '--master-key-file', file]
  const interrupted: Record<string, (file: string) => Promise<{ end: unknown; leavesDraft: boolean }>> = {
    'a disk without room': async file => {
      const refused = await site.shell(`ulimit -f 0; strongroom ${make(file).join(' ')}`)
      assertRefused(refused, 2, /\.key cannot be written \(EFBIG\)$/m)
      return { end: refused.code, leavesDraft: false }
    },
    'a kill': async file => {
      const kill = meddling('kill.mjs', "fs.writeFileSync = () => process.kill(process.pid, 'SIGKILL')")
      return { end: (await site.run(make(file), kill)).signal, leavesDraft: true }
    },
  }
  for (const [name, interrupt] of Object.entries(interrupted))
    test(`${name} in the middle of a write leaves no half of a key under the name, and does not block the next attempt (C34.3)`, async () => {
      const file = join(site.path, `${name.replaceAll(' ', '-')}.key`)
      const { end, leavesDraft } = await interrupt(file)
      assert.equal(end, leavesDraft ? 'SIGKILL' : 2)
      const left = draftsOf(file)
      assert.deepEqual([existsSync(file), left.length], [false, leavesDraft ? 1 : 0])
      assert.equal((await site.run(make(file))).code, 0)
      assert.match(readFileSync(file, 'utf8'), /^strongroom-master-key-1:[A-Za-z0-9+/]{43}=\n$/)
      assert.deepEqual([statSync(file).mode & 0o777, draftsOf(file)], [0o600, left])
    })

  test('a file system without links gets its file as well, and none is overwritten there either (C34.3)', async () => {
    const file = join(site.path, 'no-links.key')
    const noLinks = meddling(
      'no-links.mjs',
      "fs.linkSync = () => { throw Object.assign(new Error('no links'), { code: 'EPERM' }) }",
    )
    assert.equal((await site.run(make(file), noLinks)).code, 0)
    const key = readFileSync(file, 'utf8')
    assert.match(key, /^strongroom-master-key-1:[A-Za-z0-9+/]{43}=\n$/)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assertRefused(await site.run(make(file), noLinks), 2, /\.key exists and is not overwritten/)
    assert.deepEqual([readFileSync(file, 'utf8'), draftsOf(file)], [key, []])
  })

  test('a place where no file can be made is a wrong setting, told in one line (C35)', async () => {
    const place = join(site.masterKeyFile, 'below-a-file.key')
    assertRefused(
      await site.run(['master-key', '--master-key-file', place]),
      2,
      /below-a-file\.key cannot be written \(ENOTDIR\)$/m,
    )
  })
})

describe('a rotation of the master key', () => {
  const site = new Site()
  after(() => site.remove())
  const rotate = (step: string, env: Record<string, string> = {}) =>
    site.run(['master-key', step, ...site.vault], env)
  const told = async (step: string): Promise<string> => {
    const { code, stdout, stderr } = await rotate(step)
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    return stdout
  }

  test('takes three commands beside a running server, and afterwards the old key opens nothing (C14.4, C31.7)', async () => {
    const old = readFileSync(site.masterKeyFile, 'utf8').trim()
    const server = await site.serve()
    const keys = await site.json('tenant', 'create', '--name', 'Old')
    const made = await call(server.url, 'POST', '/tokens', keys.api_key, { type: 'token', data: 'kept' })
    const shown = async (url: string): Promise<void> => {
      assert.equal((await fetch(`${url}/ready`)).status, 200)
      const { body } = await call(url, 'GET', `/tokens/${made.body.id}`, keys.private_api_key)
      assert.equal(body.data, 'kept')
    }

    assert.match(await told('retire'), /holds no older master key\n$/)
    assert.match(
      await told('add'),
      /^a new master key is in \S+, above the old one; .* master-key rewrap( --\S+ \S+)+\n$/,
    )
    await shown(server.url)
    const early = await rotate('retire')
    assertRefused(
      early,
      1,
      /storage has 7 keys under an older master key: run strongroom master-key rewrap --data \S+ .*first/,
    )
    assert.equal(readFileSync(site.masterKeyFile, 'utf8').trim().split('\n').length, 2)

    assert.equal(await told('rewrap'), '7 keys wrapped with the new master key, 0 already\n')
    assert.deepEqual(await site.json('master-key', 'rewrap'), { rewrapped: 0, current: 7 })
    await shown(server.url)
    assert.match(await told('retire'), /^1 older master key moved to \S+\.retired: keep it/)
    await shown(server.url)
    const later = await site.json('tenant', 'create', '--name', 'New')
    const inNew = { type: 'token', data: 'new' }
    assert.equal((await call(server.url, 'POST', '/tokens', later.api_key, inNew)).status, 201)
    await server.end()

    const file = readFileSync(site.masterKeyFile, 'utf8')
    assert.ok(!file.includes(old))
    assert.equal(readFileSync(`${site.masterKeyFile}.retired`, 'utf8').trim(), old)
    const second = await site.serve()
    // Once more, without a pause in which the server could have looked at the file.
    for (const step of ['add', 'rewrap', 'retire']) await told(step)
    await shown(second.url)
    const wrong = await site.run(['tenant', 'list', '--data', site.data, '--key-provider', 'env'], {
      STRONGROOM_MASTER_KEY: old,
    })
    assertRefused(wrong, 1, /does not open with the master key in STRONGROOM_MASTER_KEY/)
  })

  test('rewrap says that old forms of keys are still in the log while another program reads (C31.7)', async () => {
    assert.equal((await site.run(['migrate', ...site.vault])).code, 0)
    await site.json('tenant', 'create', '--name', 'Read')
    await told('add')
    const reader = new DatabaseSync(join(site.data, 'vault.db'), { readOnly: true })
    reader.exec('BEGIN; SELECT count(*) FROM vault_keys')
    const { code, stdout, stderr } = await rotate('rewrap')
    reader.close()
    assert.equal(code, 0)
    assert.match(stdout, /^\d+ keys wrapped with the new master key, 0 already\n$/)
    assert.match(stderr, /^strongroom master-key rewrap: their old forms are still in the log, [^\n]+\n$/)
  })

  test('what was planted in storage reaches the terminal of the operator without control characters (SECURITY.md)', async () => {
    const apart = new Site()
    try {
      assert.equal((await apart.run(['migrate', ...apart.vault])).code, 0)
      await apart.json('tenant', 'create', '--name', 'Planted')
      const storage = new DatabaseSync(join(apart.data, 'vault.db'))
      storage
        .prepare('INSERT INTO tenant_keys SELECT tenant, ?, version, slot FROM tenant_keys LIMIT 1')
        .run('\u001b]0;planted\u0007\r')
      storage.close()
      assertRefused(
        await apart.run(['master-key', 'rewrap', ...apart.vault]),
        1,
        /a wrapped key \(strongroom\/\S+\/\ufffd\]0;planted\ufffd+\/1\) does not open/,
      )
    } finally {
      apart.remove()
    }
  })

  test('a key in the environment is rotated there, and has no file to change (C14.4)', async () => {
    const apart = new Site()
    try {
      const [old, next] = [newMasterKeyText(), newMasterKeyText()]
      const flags = ['--data', apart.data, '--key-provider', 'env']
      const run = (args: string[], key: string) =>
        apart.run([...args, ...flags], { STRONGROOM_MASTER_KEY: key })
      assert.equal((await run(['migrate'], old)).code, 0)
      assert.equal((await run(['tenant', 'create', '--name', 'T'], old)).code, 0)
      for (const step of ['add', 'retire'])
        assertRefused(
          await run(['master-key', step], old),
          2,
          /the key provider env has no file: set STRONGROOM_MASTER_KEY to the new key, a space and the old one/,
        )
      assert.match(
        (await run(['master-key', 'rewrap'], `${next} ${old}`)).stdout,
        /^7 keys wrapped with the new master key/,
      )
      assert.equal((await run(['tenant', 'list'], next)).code, 0)
      assertRefused(await run(['tenant', 'list'], old), 1, /does not open/)
    } finally {
      await apart.remove()
    }
  })

  test('the folder of strongroom dev is enough to find its key (C34.3)', async () => {
    const folder = join(site.path, 'development')
    const server = site.start(['dev', '--data', folder, '--port', '0'])
    await server.line('stdout', line => line.includes('curl'))
    await server.end()
    for (const step of ['add', 'rewrap', 'retire'])
      assert.deepEqual([step, (await site.run(['master-key', step, '--data', folder])).code], [step, 0])
    assert.equal(readFileSync(join(folder, 'master.key.retired'), 'utf8').trim().split('\n').length, 1)
    const nowhere = await site.run(['master-key', 'add'])
    assertRefused(nowhere, 2, /the file of the master key is missing/)
  })

  test('a master key file that is named is used, and not the one in the folder of strongroom dev (C35.4)', async () => {
    const folder = join(site.path, 'with-own-key')
    const [own, moved, other] = [join(folder, 'master.key'), join(site.path, 'moved.key'), site.masterKeyFile]
    mkdirSync(folder, { mode: 0o700 })
    createMasterKeyFile(own)
    writeFileSync(join(folder, 'dev-keys.json'), '{}', { mode: 0o600 })
    const env = { STRONGROOM_DATA: folder }
    for (const command of [['migrate'], ['tenant', 'create', '--name', 'T']])
      assert.equal((await site.run(command, env)).code, 0)
    const [ownText, otherText] = [own, other].map(path => readFileSync(path, 'utf8'))

    const added = await site.run(['master-key', 'add', '--master-key-file', other], env)
    assert.ok(added.stdout.startsWith(`a new master key is in ${other}, `))
    assert.ok(readFileSync(other, 'utf8').endsWith(`\n${otherText}`))
    for (const step of ['rewrap', 'retire'])
      assertRefused(
        await site.run(['master-key', step], { ...env, STRONGROOM_MASTER_KEY_FILE: other }),
        1,
        /does not open with the master key in/,
      )
    const config = site.file('missing-key.json', JSON.stringify({ masterKeyFile: moved }))
    const listed = await site.run(['tenant', 'list', '--config', config], env)
    assertRefused(listed, 1, /the master key file \S+moved\.key does not exist/)
    assert.equal(readFileSync(own, 'utf8'), ownText)

    renameSync(own, moved)
    const doctor = async () =>
      JSON.parse((await site.run(['doctor', '--json', '--master-key-file', moved], env)).stdout)
    assert.deepEqual(await doctor(), [])
    for (const step of ['add', 'rewrap', 'retire']) {
      const { code } = await site.run(['master-key', step, '--master-key-file', moved], env)
      assert.deepEqual([step, code], [step, 0])
      const flags = `--data ${folder} --master-key-file ${moved}`
      const next = { add: 'rewrap', rewrap: 'retire' }[step]
      const commands = (await doctor()).map(({ command }: { command: string }) => command)
      assert.deepEqual(commands, next === undefined ? [] : [`strongroom master-key ${next} ${flags}`])
    }
    assert.ok(!existsSync(own))
  })
})
