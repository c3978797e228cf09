import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pace } from '../../src/domain/pace.ts'

const { sweepIntervalMs, sweepDeadlineMs, upkeepLeaseMs, clockSkewMs } = pace

const relations: [string, boolean][] = [
  ['two sweeps fit within the purge deadline (C17.6, C11.2)', sweepIntervalMs * 2 < sweepDeadlineMs],
  [
    'a live node renews its lease before another one takes it over (C17.6)',
    sweepIntervalMs + clockSkewMs <= upkeepLeaseMs,
  ],
  [
    'a dead node is replaced within the purge deadline (C17.6, C11.2)',
    upkeepLeaseMs + sweepIntervalMs + clockSkewMs < sweepDeadlineMs,
  ],
  ['a data key is retired before its nonces run out (docs/keys.md)', pace.dataKeySealsMax < 2 ** 32],
]
for (const [name, holds] of relations) test(name, () => assert.ok(holds))
