import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { assertAbsent } from '../rig/traces.ts'
import { assertRefused, Site } from './program.ts'

describe('master-key', () => {
  const site = new Site()
  after(() => site.remove())

  test('C35.1 prints a key that the provider env accepts, a different one each time', async () => {
    const [one, other] = [await site.run(['master-key']), await site.run(['master-key'])]
    assert.match(one.stdout, /^strongroom-master-key-1:[A-Za-z0-9+/]{43}=\n$/)
    assert.notEqual(one.stdout, other.stdout)
    const server = await site.serve(['--key-provider', 'env'], { STRONGROOM_MASTER_KEY: one.stdout.trim() })
    assert.equal((await fetch(`${server.url}/ready`)).status, 200)
  })

  test('C34.3 makes a file and its folder, which only their owner may read, and never overwrites the file', async () => {
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
    const server = await site.serve(['--data', join(site.path, 'other'), '--master-key-file', file])
    assert.equal((await fetch(`${server.url}/ready`)).status, 200)
  })
})
