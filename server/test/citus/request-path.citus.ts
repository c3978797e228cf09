import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Connection } from '../../src/store/postgres/connection.ts'
import { engines } from '../rig/engines.ts'
import { databaseOf, settingsOf } from '../rig/postgres-databases.ts'
import { TestVault } from '../rig/test-vault.ts'
import { type Sent, statementsOfRequests } from './request-path.ts'

/** A change of grants: of tables that every node holds, made by the coordinator. */
const isMadeByCoordinator = ({ text }: Sent): boolean => text.includes('revise_or_undo_2')

describe('what requests ask of a Citus cluster', () => {
  let vault: TestVault
  let connection: Connection
  let statements: Sent[]
  before(async () => {
    vault = await TestVault.start({ ...(engines[0] && { engine: engines[0] }) })
    connection = new Connection({ ...settingsOf(await databaseOf(vault.folder.path)), plansPerValue: true })
    statements = [...(await statementsOfRequests(vault)).values()]
  })
  after(async () => {
    await connection.close()
    await vault.stop()
  })

  const explain = async ({ text, values }: Sent): Promise<string[]> => {
    const { rows } = await connection.query({ text: `EXPLAIN (COSTS OFF) ${text}`, values })
    return rows.map(row => String(row['QUERY PLAN']))
  }

  test('every query goes to one shard', async () => {
    for (const sent of statements) {
      const plan = await explain(sent)
      process.stdout.write(
        `\n\`\`\`\n${sent.text.replace(/\s+/g, ' ').trim()}\n\n${plan.join('\n')}\n\`\`\`\n`,
      )
      const tasks = plan.filter(line => line.includes('Task Count:')).map(line => line.trim())
      assert.deepEqual(tasks, isMadeByCoordinator(sent) ? [] : ['Task Count: 1'], plan.join('\n'))
    }
  })
})
