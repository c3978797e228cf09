import assert from 'node:assert/strict'
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { counted } from '../../src/domain/text/terminal.ts'
import { addMasterKey } from '../../src/keys/file/add-master-key.ts'
import { inShortRun, isLong } from '../rig/long-run.ts'
import { assertRefused, call, Site } from '../rig/program.ts'

describe('restore', () => {
  const site = new Site()
  let keys: Record<string, string>
  let backup: string
  /** The folder of a server that was killed, whose newest writes are in the engine's log. */
  let killed: string
  let [kept, later] = ['', '']
  const anchor = ['--audit-anchors', `file:${join(site.path, 'anchor.notes')}`]
  before(async () => {
    let server = await site.serve(anchor)
    keys = await site.json('tenant', 'create', '--name', 'X')
    const create = async (data: string): Promise<string> =>
      (await call(server.url, 'POST', '/tokens', keys.api_key ?? '', { type: 'token', data })).body.id
    kept = await create('kept')
    backup = join(site.path, 'backup.db')
    assert.equal((await site.run(['backup', backup, ...site.vault])).code, 0)
    await create('on record in the anchor')
    server.child.kill('SIGTERM')
    await server.exited
    server = await site.serve()
    later = await create('later')
    server.child.kill('SIGKILL')
    await server.exited
    killed = join(site.path, 'killed')
    cpSync(site.data, killed, { recursive: true })
  })
  after(() => site.remove())

  let folders = 0
  /** A folder with a vault in it, or a new one. */
  const folder = (from?: string): string => {
    const path = join(site.path, `folder ${folders++}`)
    if (from !== undefined) cpSync(from, path, { recursive: true })
    return path
  }
  const vaultIn = (path: string): string[] => ['--data', path, ...site.keys]
  const restore = (path: string, ...args: string[]) => site.run(['restore', ...args, ...vaultIn(path)])
  const contents = (path: string): (readonly [string, string])[] =>
    readdirSync(path, { recursive: true, encoding: 'utf8' })
      .filter(name => statSync(join(path, name)).isFile())
      .map(name => [name, readFileSync(join(path, name), 'latin1')] as const)
      .sort()
  /** Which of the two tokens a server on this folder knows. */
  const served = async (path: string, ...args: string[]): Promise<string[]> => {
    const server = await site.serve([...args, '--data', path])
    const known: string[] = []
    for (const [name, id] of [
      ['kept', kept],
      ['later', later],
    ] as const) {
      const { status, body } = await call(server.url, 'GET', `/tokens/${id}`, keys.private_api_key ?? '')
      if (status === 200 && body.data === name) known.push(name)
    }
    await server.end()
    return known
  }
  const noProblems = async (path: string): Promise<void> => {
    const { code, stdout } = await site.run(['doctor', '--deep', ...vaultIn(path)])
    assert.equal(code, 0, stdout)
  }

  test('a backup is examined, put into a new folder closed to others, recorded, and can be served (C35, L1)', async () => {
    const path = folder()
    const { code, stdout, stderr } = await restore(path, backup)
    assert.deepEqual(
      { code, stdout, stderr },
      { code: 0, stdout: `${path} holds the vault of ${backup}; every token was examined\n`, stderr: '' },
    )
    assert.deepEqual(readdirSync(path), ['vault.db'])
    assert.equal(statSync(join(path, 'vault.db')).mode & 0o777, 0o600)
    assert.deepEqual(await served(path), ['kept'])
    const { data } = JSON.parse((await site.run(['logs', 'list', '--json', ...vaultIn(path)])).stdout)
    const recorded = data.filter(({ operation }: { operation: string }) => operation === 'restore')
    assert.deepEqual(
      recorded.map(({ result, count }: { result: string; count: number }) => ({ result, count })),
      [{ result: 'allowed', count: 1 }],
    )
  })

  test('a folder that holds a vault is refused, and with --set-aside its files are kept, with all writes that were answered (C35)', async () => {
    const path = folder(killed)
    const before = contents(path)
    assertRefused(await restore(path, backup), 2, /holds a vault, which is not overwritten: add --set-aside/)
    assert.deepEqual(contents(path), before)
    const { code, stdout } = await restore(path, backup, '--set-aside', '--json')
    assert.equal(code, 0)
    const { set_aside: aside, ...told } = JSON.parse(stdout)
    assert.deepEqual(told, { restored: true, findings: [] })
    assert.deepEqual(contents(aside), before)
    assert.deepEqual(await served(path), ['kept'])
    for (const ending of ['', '-wal', '-shm']) rmSync(join(path, `vault.db${ending}`), { force: true })
    assert.deepEqual((await restore(path, aside)).code, 0)
    assert.deepEqual(await served(path), ['kept', 'later'], 'a copied folder is a backup too, log and all')
  })

  test('the vault itself, a missing file, a file that is no vault and one of a newer release are refused, and the folder stays as it is (C35)', async () => {
    const path = folder(killed)
    const before = contents(path)
    const cases: [string, RegExp][] = [
      [path, /is the vault itself, not a backup of it/],
      [join(path, 'vault.db'), /is the vault itself/],
      [join(site.path, 'nowhere'), /there is no backup \S+nowhere/],
      [site.file('empty', ''), /empty is empty/],
      [site.path, /vault\.db is not there/],
    ]
    for (const [from, says] of cases) assertRefused(await restore(path, from, '--set-aside'), 2, says)
    const text = await restore(path, site.file('text', 'a vault'.repeat(1_000)), '--set-aside')
    assert.deepEqual([text.code, text.stdout.includes('file is not a database')], [1, true], text.stderr)
    const newer = folder()
    cpSync(backup, newer)
    const opened = new DatabaseSync(newer)
    opened.exec('PRAGMA user_version = 99')
    opened.close()
    const refused = await restore(path, newer, '--set-aside')
    assertRefused(refused, 1, /install that release/)
    assert.deepEqual(contents(path), before)
    assert.equal(existsSync(join(path, 'restoring')), false)
  })

  test('a backup in which a row does not open is refused, and restored as it is with --accept-damage (SECURITY.md)', async () => {
    const damaged = join(site.path, 'damaged.db')
    cpSync(backup, damaged)
    const opened = new DatabaseSync(damaged)
    opened.exec('UPDATE tokens SET sealed = zeroblob(length(sealed))')
    opened.close()
    const path = folder()
    const refused = await restore(path, damaged)
    assert.equal(refused.code, 1)
    assert.match(refused.stdout, new RegExp(`^tokens: .*rows of tokens that do not open: ${kept}$`, 'm'))
    assert.match(refused.stderr, /nothing was restored, because .* is damaged: .* with --accept-damage$/m)
    assert.deepEqual(readdirSync(path), [])
    const accepted = await restore(path, damaged, '--accept-damage')
    assert.equal(accepted.code, 0, accepted.stderr)
    assert.match(accepted.stdout, /rows of tokens that do not open/)
    assert.doesNotMatch(accepted.stdout, /restoring/)
    assert.deepEqual(await served(path), [])
  })

  test('a backup from before a rotation comes under the present master key, with what is retired or stands behind it (docs/backups.md)', {
    skip: inShortRun,
  }, async () => {
    const home = folder()
    mkdirSync(home)
    const file = join(home, 'master.key')
    cpSync(site.masterKeyFile, file)
    addMasterKey(file)
    const [now = '', old = ''] = readFileSync(file, 'utf8').trimEnd().split('\n')
    writeFileSync(file, `${now}\n`)
    const withFile = ['--key-provider', 'file', '--master-key-file', file]
    const path = join(home, 'data')
    const unopened = await site.run(['restore', backup, '--data', path, ...withFile])
    assertRefused(unopened, 1, /does not open with the master key in /)
    writeFileSync(`${file}.retired`, `${old}\n`, { mode: 0o600 })
    assert.equal((await site.run(['restore', backup, '--data', path, ...withFile])).code, 0)
    assert.equal(readFileSync(file, 'utf8'), `${now}\n`)
    rmSync(`${file}.retired`)
    const doctor = await site.run(['doctor', '--deep', '--data', path, ...withFile])
    assert.equal(doctor.code, 0, doctor.stdout)

    const other = join(home, 'other')
    const both = { STRONGROOM_KEY_PROVIDER: 'env', STRONGROOM_MASTER_KEY: `${now} ${old}` }
    assert.equal((await site.run(['restore', backup, '--data', other], both)).code, 0)
    const alone = { ...both, STRONGROOM_MASTER_KEY: now }
    assert.equal((await site.run(['doctor', '--data', other], alone)).code, 0)
  })

  test('a backup is older than its anchors: the command that is printed accepts that, and serve starts (L4)', {
    skip: inShortRun,
  }, async () => {
    const path = folder()
    const { code, stdout } = await restore(path, backup, ...anchor)
    assert.equal(code, 1)
    assert.match(stdout, /storage is older than its anchor/)
    assertRefused(
      await site.start(['serve', '--port', '0', ...vaultIn(path), ...anchor]).exited,
      1,
      /storage is older than its anchor/,
    )
    const [, command = ''] = /^ {2}(strongroom logs accept-rollback .*)$/m.exec(stdout) ?? []
    const accepted = await site.shell(command)
    assert.equal(accepted.code, 0, accepted.stderr)
    assert.deepEqual(await served(path, ...anchor), ['kept'])
  })

  test('a restore that is killed at any step leaves what was there before, the whole backup, or nothing that serves (C35)', async () => {
    const outcomes: string[] = []
    // First into an empty folder, before the vault gets its name.
    const steps = isLong ? Array.from({ length: 13 }, (_, index) => index + 1) : [1, 8, 12]
    for (const { step, start, args } of [
      { step: 2, start: undefined, args: [] },
      ...steps.map(step => ({ step, start: killed, args: ['--set-aside'] })),
    ]) {
      const path = folder(start)
      const { signal } = await site.run(['restore', backup, ...args, ...vaultIn(path)], dyingAt(step))
      assert.equal(signal, 'SIGKILL')
      if (existsSync(join(path, 'vault.db'))) outcomes.push(countTokens(path))
      else {
        outcomes.push('refused')
        const serve = ['serve', '--port', '0', ...vaultIn(path)]
        assertRefused(await site.runRefused(serve), 1, /restoring is of a restore that is not done/)
        rmSync(join(path, 'restoring'), { recursive: true })
        assert.equal((await restore(path, backup, ...args)).code, 0)
        assert.equal(countTokens(path), '1 token')
      }
    }
    assert.deepEqual([...new Set(outcomes)].sort(), ['1 token', '3 tokens', 'refused'])
  })

  test('what root restores belongs to the owner of the folder (C35)', {
    skip: process.geteuid?.() !== 0,
  }, async () => {
    const path = folder(killed)
    chownSync(path, 65_534, 65_534)
    const { stdout } = await restore(path, backup, '--set-aside', '--json')
    for (const made of [join(path, 'vault.db'), JSON.parse(stdout).set_aside])
      assert.deepEqual([statSync(made).uid, statSync(made).gid], [65_534, 65_534])
  })

  test('a database and a folder that was moved to one are refused (C35)', async () => {
    const url = { STRONGROOM_DATABASE_URL: 'postgres://user@localhost/x' }
    assertRefused(
      await site.run(['restore', backup, ...site.keys], url),
      2,
      /restored with psql: see docs\/backups\.md/,
    )
    const path = folder(killed)
    writeFileSync(join(path, 'moved-to'), 'postgres://x\n')
    assertRefused(await restore(path, backup, '--set-aside'), 2, /moved to postgres:\/\/x/)
    await noProblems(killed)
  })
})

/** How many there are, which tells the backup from what it replaces. */
const countTokens = (folder: string): string => {
  const opened = new DatabaseSync(join(folder, 'vault.db'))
  const { count } = opened.prepare('SELECT count(*) AS count FROM tokens').get() as { count: number }
  opened.close()
  return counted(count, 'token')
}

/** Kills the program at this one of the steps that change what is on disk: its moves, and its flushes. */
const dyingAt = (step: number): Record<string, string> => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    let steps = 0
    for (const name of ['renameSync', 'fsyncSync', 'linkSync', 'rmSync']) {
      const real = fs[name]
      fs[name] = (...args) => {
        if (++steps === ${step}) process.kill(process.pid, 'SIGKILL')
        return real(...args)
      }
    }
    syncBuiltinESMExports()
  `)}`,
})
