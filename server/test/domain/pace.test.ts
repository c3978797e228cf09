import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pace } from '../../src/domain/pace.ts'

const { sweepIntervalMs, sweepDeadlineMs, upkeepLeaseMs, clockSkewMs } = pace

const relations: [string, boolean][] = [
  ['C17.6 C11.2 two sweeps fit within the purge deadline', sweepIntervalMs * 2 < sweepDeadlineMs],
  [
    'C17.6 a live node renews its lease before another one takes it over',
    sweepIntervalMs + clockSkewMs <= upkeepLeaseMs,
  ],
  [
    'C17.6 C11.2 a dead node is replaced within the purge deadline',
    upkeepLeaseMs + sweepIntervalMs + clockSkewMs < sweepDeadlineMs,
  ],
  ['docs/keys.md: a data key is retired before its nonces run out', pace.dataKeySealsMax < 2 ** 32],
]
for (const [name, holds] of relations) test(name, () => assert.ok(holds))
