import assert from 'node:assert/strict'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { migrations } from '../../src/store/sqlite/migrate.ts'
import { assertRefused, Site } from './program.ts'

const newest = migrations.at(-1)?.number

describe('migrate', () => {
  let site: Site
  beforeEach(() => {
    site = new Site()
  })
  afterEach(() => site.remove())

  const plant = (schema: number): void => {
    mkdirSync(site.data)
    const database = new DatabaseSync(join(site.data, 'vault.db'))
    database.exec(`PRAGMA user_version = ${schema}`)
    database.close()
  }

  test('C35 makes the vault where there is none, and a second time changes nothing', async () => {
    for (let time = 1; time <= 2; time++) {
      const { code, stdout, stderr } = await site.run(['migrate', '--data', site.data])
      assert.deepEqual(
        { code, stdout, stderr },
        { code: 0, stdout: `schema ${newest} of ${newest}\n`, stderr: '' },
      )
    }
  })

  test('C35 --status tells what is pending and leaves it so', async () => {
    plant(0)
    const expected = { current: 0, newest, pending: true }
    assert.deepEqual(await site.json('migrate', '--status'), expected)
    const { stdout } = await site.run(['migrate', '--status', '--data', site.data])
    assert.equal(stdout, `schema 0 of ${newest}; run strongroom migrate\n`)
    assert.deepEqual(await site.json('migrate', '--status'), expected)
    assert.deepEqual(await site.json('migrate'), { current: newest, newest, pending: false })
    assert.deepEqual(await site.json('migrate', '--status'), { current: newest, newest, pending: false })
  })

  test('C35 --status of nothing is told, and makes nothing', async () => {
    assertRefused(await site.run(['migrate', '--status', '--data', site.data]), 2, /holds no vault/)
    assert.ok(!existsSync(site.data))
    assertRefused(await site.run(['migrate']), 2, /storage is not configured/)
  })

  test('C35 storage of a newer release is refused, by migrate and by serve', async () => {
    plant(99)
    for (const args of [['migrate'], ['serve', '--port', '0']])
      assertRefused(
        await site.run([...args, ...site.vault]),
        1,
        /storage has schema 99, this release knows \d+/,
      )
  })

  test('C35 works beside a running server', async () => {
    const server = await site.serve()
    assert.deepEqual(await site.json('migrate'), { current: newest, newest, pending: false })
    assert.equal((await fetch(`${server.url}/ready`)).status, 200)
  })
})
