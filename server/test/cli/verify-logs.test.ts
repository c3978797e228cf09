import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { inShortRun } from '../rig/long-run.ts'
import { assertRefused, call, Site } from '../rig/program.ts'

const verifier = join(import.meta.dirname, '../../bin/verify-log.js')

describe('logs verify and accept-rollback', () => {
  let site: Site
  let tenant: { tenant_id: string; api_key: string; management_api_key: string }
  let anchor: string
  const anchors = (): string[] => ['--audit-anchors', `file:${anchor}`]
  const verify = (...args: readonly string[]) => site.run(['logs', 'verify', ...site.vault, ...args])
  const create = async (url: string) =>
    assert.equal(
      (await call(url, 'POST', '/tokens', tenant.api_key, { type: 'token', data: 'a' })).status,
      201,
    )
  /** A server that stores something, and stops. */
  const serveOnce = async (): Promise<void> => {
    const server = await site.serve(anchors())
    await create(server.url)
    server.child.kill('SIGTERM')
    assert.equal((await server.exited).code, 0)
  }
  const backUp = async (name: string): Promise<string> => {
    const path = join(site.path, name)
    assert.equal((await site.run(['backup', path, '--data', site.data])).code, 0)
    return path
  }
  const bringBack = (path: string): void => {
    for (const suffix of ['-wal', '-shm']) rmSync(join(site.data, `vault.db${suffix}`), { force: true })
    copyFileSync(path, join(site.data, 'vault.db'))
  }

  before(async () => {
    site = new Site()
    anchor = join(site.path, 'anchor.notes')
    assert.equal((await site.run(['migrate', ...site.vault])).code, 0)
    tenant = await site.json('tenant', 'create', '--name', 'One')
    await serveOnce()
  })
  after(() => site.remove())

  test('a vault in good order is good, and its key is that of doctor (L4.3, L6.1, L6.3)', async () => {
    const { code, stdout, stderr } = await verify(...anchors())
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, stdout)
    const [, key] = /^good: 2 logs, complete at checkpoint \d+\npublic key: (\S+)\n$/.exec(stdout) ?? []
    assert.ok(key, stdout)
    const doctor = await site.run(['doctor', '--deep', ...site.vault, ...anchors()])
    assert.equal(doctor.code, 0, doctor.stdout)
    assert.equal(doctor.stderr, '')
    assert.ok(doctor.stdout.endsWith(`the public key of the log: ${key}\n`))
    assert.deepEqual((await site.json('logs', 'verify')).findings, [])
    const altered = join(site.path, 'altered.notes')
    writeFileSync(altered, readFileSync(anchor, 'utf8').replace('epoch 0', 'epoch 1 0'))
    for (const named of [
      ['--anchor', altered],
      ['--audit-anchors', `file:${altered}`],
    ])
      assert.equal((await verify(...named)).code, 2)
  })

  test('an export by HTTP and one by the command are good without the vault (L5, L6.2)', async () => {
    const { key } = await site.json('logs', 'verify')
    const server = await site.serve(anchors())
    await create(server.url)
    const reply = await fetch(`${server.url}/logs/export`, {
      headers: { 'svc-api-key': tenant.management_api_key },
    })
    const exports = [
      await reply.text(),
      ...(await Promise.all(
        [['--tenant', tenant.tenant_id], []].map(
          async options => (await site.run(['logs', 'export', ...options, ...site.vault])).stdout,
        ),
      )),
    ]
    for (const text of exports) {
      const path = join(site.path, 'export.ndjson')
      writeFileSync(path, text)
      const args = [verifier, path, '--key', key]
      const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      assert.equal(status, 0, `${stdout}${text}`)
    }
    server.child.kill('SIGTERM')
    await server.exited
  })

  test('whatever keeps it from running exits with 1, so that no script takes a typo for tampering (L6.3)', async () => {
    assertRefused(await verify('--anchro', anchor), 1, /there is no option --anchro/)
    assertRefused(await verify('--anchor', join(site.path, 'none')), 1, /there is no anchor/)
    assertRefused(await verify('--anchor='), 1, /--anchor is empty/)
    assertRefused(await site.run(['logs', 'verfy', ...site.vault]), 1, /logs verify/)
    assertRefused(await verify('--anchor', site.path), 1, /EISDIR|directory/)
    assertRefused(await site.run(['logs', 'accept-rollback', 'x', ...site.vault]), 2, /<size> is that of/)
  })

  test('records that were changed are named with exit code 2, and by doctor --deep (L6.1, L6.3)', async () => {
    const backup = await backUp('sound.db')
    const database = new DatabaseSync(join(site.data, 'vault.db'))
    database.exec(
      'UPDATE log SET sealed = zeroblob(100) WHERE rowid IN (SELECT rowid FROM log WHERE tenant = 1 LIMIT 1)',
    )
    database.close()
    const { code, stdout } = await verify()
    assert.equal(code, 2, stdout)
    assert.match(stdout, new RegExp(`^altered: log of tenant ${tenant.tenant_id}: .* does not open`))
    const doctor = await site.run(['doctor', '--deep', ...site.vault])
    assert.equal(doctor.code, 1)
    assert.match(doctor.stdout, /^log: log of tenant /m)
    assert.equal(doctor.stderr, '')
    bringBack(backup)
    assert.equal((await verify()).code, 0)
  })

  test('a restored backup is refused in one line, whose command accepts it, and then it is served (L4.5, L6.1, L6.3)', {
    skip: inShortRun,
  }, async () => {
    const backup = await backUp('yesterday.db')
    await serveOnce()
    await serveOnce()
    assert.equal((await verify(...anchors())).code, 0)
    bringBack(backup)
    const notes = readFileSync(anchor, 'utf8')
    for (const workers of ['1', '2']) {
      const refused = await site.run([
        'serve',
        '--port',
        '0',
        '--workers',
        workers,
        ...site.vault,
        ...anchors(),
      ])
      assertRefused(
        refused,
        1,
        /^strongroom serve: storage is older than its anchor: it was rolled back or cut /,
      )
    }
    assert.equal(readFileSync(anchor, 'utf8'), notes)
    const cut = await verify('--anchor', anchor)
    assert.equal(cut.code, 3, cut.stdout)
    const doctor = await site.run(['doctor', ...site.vault, ...anchors()])
    assert.equal(doctor.code, 1)
    assert.match(doctor.stdout, /^anchors: storage is older than its anchor/m)
    const refused = await site.run(['serve', '--port', '0', ...site.vault, ...anchors()])
    const [, command = ''] = /If that was you: (strongroom [^\n]*)\n$/.exec(refused.stderr) ?? []
    assert.match(command, /^strongroom logs accept-rollback .*--audit-anchors \S+ .*\d+$/)
    const wrong = await site.shell(command.replace(/\d+$/, size => String(Number(size) + 1)))
    assertRefused(wrong, 2, /the newest checkpoint of storage has the size \d+/)
    const accepted = await site.shell(command)
    assert.deepEqual([accepted.code, accepted.stderr], [0, ''])
    const again = await site.shell(command)
    assertRefused(again, 2, /the newest checkpoint of storage has the size|nothing to accept/)
    await serveOnce()
    const good = await verify(...anchors())
    assert.deepEqual([good.code, good.stderr], [0, ''], good.stdout)
    const records = await site.run(['logs', 'export', '--operation', 'logs accept-rollback', ...site.vault])
    assert.deepEqual(
      records.stdout
        .split('\n')
        .filter(line => line.includes('"sequence"'))
        .map(line => JSON.parse(line))
        .map(({ result, after: then }) => [result, typeof then?.checkpoint]),
      [
        ['failed', 'undefined'],
        ['allowed', 'number'],
        ['failed', 'undefined'],
      ],
    )
  })
})
