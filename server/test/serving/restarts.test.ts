import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { restarts } from '../../src/cli/workers/restarts.ts'

describe('replacing workers', () => {
  const settled = { livedMs: 10_000, wasReady: true }
  const short = { livedMs: 9_999, wasReady: true }
  const failed = { livedMs: 300, wasReady: false }
  const table: {
    name: string
    ends: (typeof settled)[]
    othersReady?: boolean
    waits: (number | 'giveUp')[]
  }[] = [
    { name: 'a settled worker is replaced at once, each time', ends: [settled, settled], waits: [0, 0] },
    {
      name: 'workers that keep dying are replaced after longer and longer waits, up to half a minute',
      ends: Array(11).fill(short),
      waits: [0, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000],
    },
    {
      name: 'a settled worker resets the wait',
      ends: [short, short, short, settled, short, short],
      waits: [0, 100, 200, 0, 0, 100],
    },
    {
      name: 'when no worker answers and none gets ready, it gives up after the fifth',
      ends: Array(5).fill(failed),
      waits: [0, 100, 200, 400, 'giveUp'],
    },
    {
      name: 'a worker that got ready in between keeps it from giving up',
      ends: [failed, failed, failed, failed, short, failed],
      waits: [0, 100, 200, 400, 800, 1_600],
    },
    {
      name: 'a worker that never got ready was not settled, however long it tried',
      ends: Array(3).fill({ livedMs: 60_000, wasReady: false }),
      waits: [0, 100, 200],
    },
    {
      name: 'while other workers answer, it does not give up',
      ends: Array(7).fill(failed),
      othersReady: true,
      waits: [0, 100, 200, 400, 800, 1_600, 3_200],
    },
  ]
  for (const { name, ends, othersReady: areReady = false, waits } of table)
    test(`${name} (C35.1)`, () => {
      const policy = restarts()
      assert.deepEqual(
        ends.map(end => policy.ended(end, { areReady })),
        waits,
      )
    })
})
