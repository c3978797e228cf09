import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { inShortRun } from '../rig/long-run.ts'
import { Site } from '../rig/program.ts'

describe('keys that cannot be shown', { timeout: 120_000 }, () => {
  const site = new Site()
  let tenant: string
  let app: string
  before(async () => {
    await site.run(['migrate', ...site.vault])
    tenant = (await site.json('tenant', 'create', '--name', 'T')).tenant_id
    app = (await site.json('app', 'list', '--tenant', tenant))[0].id
  })
  after(() => site.remove())

  /** Standard error of a command whose standard output nothing reads; it must end with 1. */
  const unread = async (...args: string[]): Promise<string> => {
    const program = site.start([...args, ...site.vault])
    program.child.stdout?.destroy()
    const { code, stderr } = await program.exited
    assert.equal(code, 1)
    assert.ok(!stderr.includes('key_'))
    return stderr
  }

  /** Runs the command that the text names, as it is. */
  const follow = async (text: string, command: RegExp) => {
    const [line = ''] = command.exec(text) ?? []
    assert.notEqual(line, '', text)
    return site.run(line.split(' ').slice(1))
  }

  test('tenant create says so, and how to get new ones (C35.3)', async () => {
    const stderr = await unread('tenant', 'create', '--name', 'Unread')
    assert.match(
      stderr,
      /^strongroom: the tenant [0-9a-f-]{36} was made, but its keys were not shown: [^\n]+\n$/,
    )
    const list = await follow(stderr, /strongroom app list[^:;\n]*? --tenant \S+/)
    assert.equal(list.code, 0)
    const [, listed = ''] = list.stdout.split('\n')
    const id = listed.split(' ')[0] ?? ''
    const made = await follow(
      stderr.replace('<id>', id),
      /strongroom key create[^:;\n]*? --tenant \S+ --app \S+/,
    )
    assert.equal(made.code, 0)
    assert.match(made.stdout, /^key +key_/m)
  })

  test('app create and key create say so, and what to do (C35.3)', {
    skip: inShortRun,
  }, async () => {
    const wish = ['--tenant', tenant, '--name', 'A', '--type', 'public', '--permissions', 'token:create']
    const ofApp = await unread('app', 'create', ...wish)
    assert.match(
      (await follow(ofApp, /strongroom key create[^:;\n]*? --tenant \S+ --app \S+/)).stdout,
      /^key +key_/m,
    )
    const ofKey = await unread('key', 'create', '--tenant', tenant, '--app', app)
    const revoked = await follow(ofKey, /strongroom key revoke \S+[^:;\n]*? --tenant \S+ --app \S+/)
    assert.deepEqual([revoked.code, revoked.stderr], [0, ''])
  })

  test('a full disk is reported as well (C35.3)', async t => {
    if (!existsSync('/dev/full')) return t.skip('this system has no /dev/full')
    const line = `strongroom tenant create --name Full --json ${site.vault.join(' ')} > /dev/full`
    const { code, stderr } = await site.shell(line)
    assert.equal(code, 1)
    assert.match(stderr, /ENOSPC/)
    assert.match(stderr, /but its keys were not shown/)
  })
})
