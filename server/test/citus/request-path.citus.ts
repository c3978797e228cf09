import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Connection } from '../../src/store/postgres/connection.ts'
import { engines } from '../rig/engines.ts'
import { databaseOf, settingsOf } from '../rig/postgres-databases.ts'
import { TestVault } from '../rig/test-vault.ts'
import { type Explained, explainedMarkdown, taskCount } from './explained-markdown.ts'
import { type Sent, statementsOfRequests } from './request-path.ts'

/** It names the tables of a shard, at the node that holds them, or asks where shards are and how to write to them. */
const isOfNode = ({ text }: Sent): boolean =>
  /\w_\d{6}\b|pg_dist_|get_shard_id_|lock_shard_metadata|pg_get_functiondef/.test(text)

/** What is sent instead when a shard has moved. */
const throughCitus = (sent: Sent): Sent => ({
  ...sent,
  text: sent.text.replace(/^SELECT pg_temp\.(\w+?)_\d+\(/, 'SELECT $1('),
})

/** A change of grants: it affects tables that every node holds, and is made by the coordinator, which also finishes half-done ones. */
const isMadeByCoordinator = ({ text }: Sent): boolean =>
  /revise_or_undo|recover_prepared_transactions/.test(text)

describe('what requests ask of a Citus cluster', () => {
  let vault: TestVault
  let connection: Connection
  let statements: Sent[]
  before(async () => {
    vault = await TestVault.start({ ...(engines[0] && { engine: engines[0] }) })
    connection = new Connection({ ...settingsOf(await databaseOf(vault.folder.path)), plansPerValue: true })
    // A batch of several sets is sent the same way as a single set.
    statements = (await statementsOfRequests(vault))
      .map(throughCitus)
      .flatMap(sent =>
        sent.text.includes('apply_or_undo')
          ? [sent, { ...sent, text: sent.text.replace('apply_or_undo', 'apply_or_abort') }]
          : [sent],
      )
  })
  after(async () => {
    await connection.close()
    await vault.stop()
  })

  const explain = async ({ text, values }: Sent): Promise<string[]> => {
    const { rows } = await connection.query({ text: `EXPLAIN (COSTS OFF) ${text}`, values })
    return rows.map(row => String(row['QUERY PLAN']))
  }

  test('every query goes to one shard (C24.10, C27.1)', async () => {
    const explained: Explained[] = []
    assert.ok(statements.some(isOfNode))
    for (const sent of statements.filter(sent => !isOfNode(sent)))
      explained.push({ sent, plan: await explain(sent) })
    process.stdout.write(`\n${explainedMarkdown(explained)}\n`)
    for (const { sent, plan } of explained) {
      assert.equal(taskCount(plan), isMadeByCoordinator(sent) ? undefined : '1', plan.join('\n'))
      assert.ok(!plan.some(line => /Seq Scan|Bitmap/.test(line)), plan.join('\n'))
    }
  })
})
