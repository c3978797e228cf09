import assert from 'node:assert/strict'
import { chmodSync, chownSync, copyFileSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { shellWord } from '../../src/domain/text/terminal.ts'
import { inShortRun } from '../rig/long-run.ts'
import { assertRefused, giveToPlainUser, noPlainUser, Site } from '../rig/program.ts'

const isRoot = process.getuid?.() === 0

describe('files that this user may not use', { skip: noPlainUser() }, () => {
  const site = new Site()
  const file = join(site.data, 'vault.db')
  const files = [file, `${file}-wal`, `${file}-shm`]
  const copies = files.map((_, place) => join(site.path, `copy-${place}`))
  before(async () => {
    // Killed, so that the log holds writes.
    const server = await site.serve()
    await site.json('tenant', 'create', '--name', 'X')
    server.child.kill('SIGKILL')
    await server.exited
    files.forEach((path, place) => {
      copyFileSync(path, copies[place] ?? '')
    })
  })
  beforeEach(() => {
    files.forEach((path, place) => {
      copyFileSync(copies[place] ?? '', path)
      chmodSync(path, 0o600)
    })
    chmodSync(site.masterKeyFile, 0o600)
    giveToPlainUser(site.path)
  })
  after(() => site.remove())

  const ask = async (): Promise<{ check: string; problem: string; command?: string; byHand?: string }[]> =>
    JSON.parse((await site.runPlainly(['doctor', '--json', ...site.vault])).stdout)

  for (const [place, mode] of [
    [0, 0o000],
    [1, 0o400],
    [2, 0o000],
  ] as const)
    test(`${['vault.db', 'vault.db-wal', 'vault.db-shm'][place]} with mode ${mode.toString(8)} is reported with the chmod that opens it, and no restore is suggested (C35)`, {
      skip: place !== 0 && inShortRun,
    }, async () => {
      const path = files[place] ?? file
      const held = readFileSync(path)
      chmodSync(path, mode)
      const problem = `this user may not read and write ${path} (EACCES)`
      // All of them open storage in one place, so one file is enough to try each command.
      const commands = path === file ? [['serve', '--port', '0'], ['migrate']] : []
      for (const command of [['tenant', 'list'], ...commands])
        assertRefused(
          await site.runPlainly([...command, ...site.vault]),
          2,
          new RegExp(`: ${RegExp.escape(`${problem}: run chmod 600 ${path}`)}$`, 'm'),
        )
      const [finding, ...others] = await ask()
      assert.deepEqual(others, [])
      assert.deepEqual(finding, {
        check: 'file permissions',
        problem: `${problem}: run chmod 600 ${path}`,
        command: `chmod 600 ${path}`,
      })
      assert.deepEqual(readFileSync(path), held)
      assert.equal((await site.shell(finding.command ?? '')).code, 0)
      assert.deepEqual(await ask(), [])
    })

  test('a data folder that this user may not write to is reported with the chmod that opens it (C35)', async () => {
    chmodSync(site.data, 0o500)
    const problem = `this user may not work in ${site.data} (EACCES)`
    const [finding, ...others] = await ask()
    assert.deepEqual(others, [])
    assert.deepEqual(finding, {
      check: 'file permissions',
      problem: `${problem}: run chmod 700 ${site.data}`,
      command: `chmod 700 ${site.data}`,
    })
    assert.equal((await site.shell(finding.command ?? '')).code, 0)
    assert.deepEqual(await ask(), [])
  })

  test('a data folder of another user is reported with what that user or root has to do (C35)', {
    skip: isRoot ? false : 'only root can make one',
  }, async () => {
    chownSync(site.data, 0, 0)
    chmodSync(site.data, 0o755)
    const { code, stdout } = await site.runPlainly(['doctor', '--json', ...site.vault])
    chmodSync(site.data, 0o700)
    const [finding, ...others] = JSON.parse(stdout)
    assert.deepEqual([code, others, finding.command], [1, [], undefined])
    assert.equal(finding.problem, `this user may not work in ${site.data} (EACCES)`)
    assert.match(
      finding.byHand,
      /^it belongs to user 0: run this as that user, or .*: chown -R \d+ \S+ && chmod 700 /,
    )
  })

  test('a log that root left behind is reported with the command that gives it to the owner of its folder (C35)', {
    skip: isRoot ? false : 'only root can leave one',
  }, async () => {
    const log = `${file}-wal`
    chownSync(log, 0, 0)
    const [finding, ...others] = await ask()
    assert.deepEqual(others, [])
    const { uid } = statSync(site.data)
    assert.equal(finding?.command, `chown ${uid} ${log} && chmod 600 ${log}`)
    assert.equal((await site.shell(finding.command)).code, 0)
    assert.deepEqual(await ask(), [])
  })

  test('no command is offered that would take a vault from another user (C35)', {
    skip: isRoot ? false : 'only root can make one',
  }, async () => {
    for (const path of files) chownSync(path, 0, 0)
    chownSync(site.data, 0, 0)
    chmodSync(site.data, 0o777)
    const [finding] = await ask()
    chmodSync(site.data, 0o700)
    assert.equal(finding?.command, undefined)
    assert.match(finding?.byHand ?? '', /^it belongs to user 0: run this as that user, or /)
  })

  test('a master key that this user may not read is reported with the chmod that opens it, not with a restore (C35)', async () => {
    chmodSync(site.masterKeyFile, 0o000)
    assertRefused(
      await site.runPlainly(['tenant', 'list', ...site.vault]),
      1,
      /master\.key may not be read by this user \(EACCES\): .* chown \d+ \S+master\.key && chmod 600 \S+master\.key$/m,
    )
    const [finding, ...others] = await ask()
    assert.deepEqual(others, [])
    assert.deepEqual([finding?.check, finding?.command], ['keys', `chmod 600 ${site.masterKeyFile}`])
    assert.equal((await site.shell(finding?.command ?? '')).code, 0)
    assert.deepEqual(await ask(), [])
    const odd = site.file("the key's copy", '', 0o000)
    assertRefused(
      await site.runPlainly(['tenant', 'list', ...site.vault, '--master-key-file', odd]),
      1,
      new RegExp(
        `chown \\d+ ${RegExp.escape(shellWord(odd))} && chmod 600 ${RegExp.escape(shellWord(odd))}$`,
        'm',
      ),
    )
  })

  test('a data folder whose name is too long is refused for that reason (C35)', async () => {
    const long = join(site.path, 'x'.repeat(300))
    assertRefused(
      await site.runRefused(['serve', '--port', '0', ...site.vault, '--data', long]),
      2,
      /the data folder \S+ cannot be used: its name is too long \(ENAMETOOLONG\)$/m,
    )
  })
})
