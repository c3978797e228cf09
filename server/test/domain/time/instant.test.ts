import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatInstant } from '../../../src/domain/time/instant.ts'
import { fc } from '../../rig/properties.ts'

/** With a place for the offset, which JavaScript itself cannot write. */
const asJavaScript = (instant: number, offsetMinutes: number): string => {
  const size = new Date(Math.abs(offsetMinutes) * 60_000).toISOString().slice(11, 16)
  return new Date(instant + offsetMinutes * 60_000)
    .toISOString()
    .replace('Z', `${offsetMinutes < 0 ? '-' : '+'}${size}`)
}

/** Often near each other, as the times of one answer are. */
const instant = fc.oneof(
  fc.integer({ min: 1_700_000_000_000, max: 1_700_000_000_000 + 200_000_000 }),
  fc.integer({ min: -8_630_000_000_000_000, max: 8_630_000_000_000_000 }),
)
const offset = fc.oneof(fc.constant(0), fc.integer({ min: -1_439, max: 1_439 }))

test('a time is written as JavaScript writes it, with its offset, whatever was written before (C5.5, C5.6)', () =>
  fc.assert(
    fc.property(fc.array(fc.tuple(instant, offset), { minLength: 2, maxLength: 10 }), times => {
      for (const [at, offsetMinutes] of times)
        assert.equal(formatInstant(at, offsetMinutes), asJavaScript(at, offsetMinutes))
    }),
    { numRuns: 2_000 },
  ))
