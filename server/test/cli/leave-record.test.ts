import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { emptyDatabase } from '../rig/postgres-databases.ts'
import { Site } from '../rig/program.ts'

type Database = Awaited<ReturnType<typeof emptyDatabase>>

describe('commands that work on files and the schema', () => {
  const site = new Site()
  let database: Database
  before(async () => {
    database = await emptyDatabase()
  })
  after(async () => {
    await site.remove()
    await database.drop()
  })

  const keys = site.vault.slice(2)
  const run = async (command: readonly string[], env: Record<string, string> = {}): Promise<string> => {
    const { code, stderr } = await site.run([...command], env)
    assert.equal(code, 0, stderr)
    return stderr
  }
  const recordsOf = async (
    operation: string,
    flags: readonly string[] = site.vault,
    env: Record<string, string> = {},
  ): Promise<number> => {
    const list = ['logs', 'list', '--operation', operation, '--result', 'allowed', '--json', ...flags]
    return JSON.parse((await site.run(list, env)).stdout).data.length
  }

  test('where a record is refused, the work is done, and the command says so (L1)', async () => {
    await run(['migrate', '--data', site.data])
    const other = await run(['migrate', '--data', site.data, '--key-provider', 'env'])
    assert.match(other, /^strongroom migrate: it is done, but left no record in the log: /)
  })

  test('each leaves one record in the log of the operator (L1)', async () => {
    await run(['migrate', ...site.vault])
    assert.equal(await recordsOf('migrate'), 1)
    await run(['migrate', '--status', ...site.vault])
    assert.equal(await recordsOf('migrate'), 1, 'to look is no act')
    await run(['master-key', 'add', ...site.vault])
    assert.equal(await recordsOf('master-key add'), 1)
    const there = { STRONGROOM_DATABASE_URL: database.url }
    await run(['migrate-store', '--from', site.data, ...keys], there)
    assert.equal(await recordsOf('migrate-store', keys, there), 1)
    assert.equal(await recordsOf('master-key add', keys, there), 1, 'the log has moved with the vault')
  })

  test('without keys or storage none can be left, and the work is done in silence (L1)', async () => {
    const unkeyed = new Site()
    try {
      assert.equal(await run(['migrate', '--data', unkeyed.data]), '')
      assert.equal(await run(['master-key', 'add', ...keys]), '')
    } finally {
      await unkeyed.remove()
    }
  })
})
