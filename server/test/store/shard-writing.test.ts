import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Connection, Statement } from '../../src/store/postgres/connection.ts'
import { Shard } from '../../src/store/postgres/shard.ts'
import { ShardWriting } from '../../src/store/postgres/shard-writing.ts'

const shard = (): Shard =>
  new Shard({
    shard: '102008',
    node_group: 1,
    host: '127.0.0.1',
    port: 5432,
    names: '{tokens}',
    tables: '{tokens_102008}',
    tenants: 'tenants_102100',
  })

type Answers = PromiseSettledResult<never>[]
const done = { status: 'fulfilled', value: undefined as never } as const
const refused = (code: string) =>
  ({ status: 'rejected', reason: Object.assign(new Error(), { code }) }) as const

/** A line that answers as given, or cannot be reached. Both notes which statements it was sent. */
const line = (answers: Answers | undefined) => {
  const sent: string[] = []
  return {
    sent,
    open: async () => {
      if (answers === undefined) throw new Error('away')
    },
    session: undefined,
    send: async (statements: readonly Statement[]) => {
      sent.push(...statements.map(({ text }) => text))
      return (answers ?? []).slice(0, statements.length)
    },
  }
}

// A cluster moves a shard between two statements only now and then, so the node is not a real one here.
for (const { name, here, elsewhere } of [
  { name: 'a node that has the shard answers all', here: [done, done], elsewhere: [] },
  { name: 'a node that is away is asked for nothing', here: undefined, elsewhere: ['one', 'two'] },
  {
    name: 'what was written before the shard was moved is not written again',
    here: [done, refused('SR002')],
    elsewhere: ['two'],
  },
  { name: 'what failed of itself is not sent again', here: [refused('40P01'), done], elsewhere: [] },
])
  test(`${name} (docs/decisions/0010)`, async () => {
    const node = line(here)
    const other = line([done, done])
    const writing = new ShardWriting(node as unknown as Connection, shard(), async () => other as never)
    const answers = await writing.send([{ text: 'one' }, { text: 'two' }])
    assert.deepEqual(other.sent, elsewhere)
    assert.equal(answers.length, 2)
    assert.deepEqual(
      answers.map(({ status }) => status),
      [here?.[0] === undefined ? 'fulfilled' : here[0].status, 'fulfilled'],
    )
  })
