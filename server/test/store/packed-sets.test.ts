import assert from 'node:assert/strict'
import { test } from 'node:test'
import { packSets, unpackSets } from '../../src/store/sqlite/writing/packed-sets.ts'
import { ValueReader, ValueWriter } from '../../src/store/sqlite/writing/packed-values.ts'
import { type SealedSet, sealSets } from '../../src/store/sqlite/writing/sealed-sets.ts'
import type { WriteSet } from '../../src/store/write-set.ts'
import { logOf } from '../rig/log-parts.ts'
import { fc } from '../rig/properties.ts'

const text = fc.oneof(fc.constantFrom('card', 'seals 1'), fc.string({ unit: 'grapheme' }))
const integer = fc.maxSafeInteger()
const bytes = fc.uint8Array({ maxLength: 40 })
const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null })

const row = fc.record({
  id: text,
  type: text,
  version: integer,
  createdAt: integer,
  createdBy: text,
  modifiedAt: nullable(integer),
  modifiedBy: nullable(text),
  expiresAt: nullable(integer),
  transientUntil: nullable(integer),
  activeMonth: integer,
  sealed: bytes,
})
const terms = fc.record({
  kind: fc.constantFrom('addTerms' as const, 'removeTerms' as const),
  of: fc.record({
    tokenId: text,
    createdAt: integer,
    expiresAt: nullable(integer),
    signature: integer,
  }),
  terms: fc.array(fc.record({ term: bytes, tag: nullable(bytes) })),
})
const rareChange = fc.oneof(
  fc.record({ kind: fc.constant('deleteToken' as const), id: text, ifVersion: integer }),
  fc.record({ kind: fc.constant('updateToken' as const), row, ifVersion: integer }),
  fc.record({ kind: fc.constant('expectToken' as const), id: text, sealed: nullable(bytes) }),
)
const rareEffect = fc.oneof(
  fc.record({ kind: fc.constant('dropTransient' as const), tokenId: text, field: text }),
  fc.record({
    kind: fc.constant('markActive' as const),
    ids: fc.array(text),
    month: integer,
    counter: text,
  }),
)
const set: fc.Arbitrary<WriteSet> = fc
  .record({
    tenant: fc.constant(7),
    rows: fc.array(row),
    rare: fc.array(rareChange),
    effects: fc.array(fc.oneof(terms, rareEffect)),
    counters: fc.array(
      fc.record(
        { name: text, by: fc.oneof(integer, fc.constant(Number.NaN)), at: integer },
        {
          requiredKeys: ['name', 'by'],
        },
      ),
    ),
    log: nullable(fc.array(text, { minLength: 1 }).map(texts => logOf(texts))),
  })
  .map(({ tenant, rows, rare, effects, counters, log }) => ({
    tenant,
    guarded: [...rows.map(row => ({ kind: 'insertToken' as const, row })), ...rare],
    effects,
    counters,
    log,
  }))

/** Bytes come back as buffers, which equal arrays only by content. */
const plain = (sets: readonly SealedSet[]): unknown =>
  JSON.parse(
    JSON.stringify(sets, function (key, value) {
      const own = (this as Record<string, unknown>)[key]
      if (own instanceof Uint8Array) return { bytes: Buffer.from(own).toString('hex') }
      return Number.isNaN(value) ? 'not a number' : value
    }),
  )

test('write sets arrive at the writing thread as they were sent (C27.1)', () => {
  fc.assert(
    fc.property(fc.array(set, { maxLength: 4 }), sets => {
      const packed = structuredClone(packSets(7, sets))
      assert.deepEqual(plain(unpackSets(packed)), plain(sealSets(sets)))
    }),
    { numRuns: 200 },
  )
})

test('a batch carries only the bytes of its sets, whatever buffer they were cut from (docs/decisions/0005)', () => {
  const sealed = Buffer.alloc(1_000_000).subarray(0, 8)
  const { bytes } = packSets(1, [
    { tenant: 1, guarded: [{ kind: 'expectToken', id: 'a', sealed }], effects: [], counters: [], log: null },
  ])
  assert.ok(bytes.buffer.byteLength < 200)
})

test('a batch may be larger than any before it, and a set that cannot be packed spoils none after it (C2.23)', () => {
  const one = (sealed: Uint8Array): WriteSet => {
    const columns = {
      id: 'ü'.repeat(400),
      type: 'token',
      version: 1,
      createdAt: 1,
      createdBy: 'a',
    }
    const times = {
      modifiedAt: null,
      modifiedBy: null,
      expiresAt: null,
      transientUntil: null,
      activeMonth: 1,
    }
    const row = { ...columns, ...times, sealed }
    return { tenant: 1, guarded: [{ kind: 'insertToken', row }], effects: [], counters: [], log: null }
  }
  const large = Array.from({ length: 40 }, (_, n) => one(Buffer.alloc(100_000, n)))
  assert.deepEqual(plain(unpackSets(packSets(1, large))), plain(sealSets(large)))
  const small = [one({} as never), one(Buffer.from('after'))]
  const [impossible, after] = unpackSets(packSets(1, small))
  assert.deepEqual(impossible, one(undefined as never))
  assert.deepEqual(plain([after as SealedSet]), plain(sealSets(small.slice(1))))
})

test('values arrive as they were sent, wherever the room for them ends (C27.1)', () => {
  const room = 1 << 16
  const values = [null, 7, 'ünïcödé', null, 'ß', 'a']
  for (let spare = 0; spare < 80; spare++) {
    const writer = new ValueWriter()
    // Five bytes say that bytes follow, and how many.
    writer.add(new Uint8Array(room - 5 - spare))
    for (const value of values) writer.add(value)
    for (const value of values) writer.addRecurring(value)
    const reader = new ValueReader(writer.copy())
    reader.next()
    const sent = [...values, ...values]
    assert.deepEqual(
      sent.map(() => reader.next()),
      sent,
      `${spare} bytes to spare`,
    )
  }
})
