import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  openToken,
  openTransient,
  sealToken,
  sealTransient,
  type TokenColumns,
  type TransientColumns,
} from '../../src/crypto/data-seal.ts'
import { TamperedError } from '../../src/domain/tampered-error.ts'
import { fc } from '../rig/properties.ts'
import { damages } from './damages.ts'
import { newKey, newTenantKeys } from './test-keys.ts'

const columns: TokenColumns = {
  id: '0195f2d0-0000-7000-8000-000000000001',
  type: 'card',
  version: 3,
  expiresAt: 2_000,
  createdBy: 'application',
  createdAt: 1_000,
  modifiedBy: 'another',
  modifiedAt: 1_500,
}
const transient: TransientColumns = { field: 'cvc', expiresAt: 4_600 }
const record = '{"d":{"number":"4242424242424242"}}'

/** For each column, values near its own: different, empty, absent, or those of its neighbours. */
const otherColumns: { [K in keyof TokenColumns]: TokenColumns[K][] } = {
  id: ['0195f2d0-0000-7000-8000-000000000002', '', 'card'],
  type: ['token', '', 'Card'],
  version: [2, 4, 0],
  expiresAt: [1_999, 2_001, null, 0],
  createdBy: ['another', '', 'application '],
  createdAt: [999, 1_001, 1_500],
  modifiedBy: ['application', '', null],
  modifiedAt: [1_499, null, 1_000],
}

describe('sealed tokens', () => {
  const keys = newTenantKeys()
  const sealed = sealToken(keys, columns, record)
  const sealedCode = sealTransient(keys, columns, transient, '"123"')
  const names = (error: unknown): boolean => {
    assert.ok(error instanceof TamperedError)
    assert.equal(error.row.kind, 'token')
    assert.equal(error.row.tenantId, keys.tenantId)
    assert.ok(!error.message.includes('4242') && !error.message.includes('123"'))
    return true
  }
  const namesId = (id: string) => (error: unknown) => names(error) && (error as TamperedError).row.id === id

  test('a token and its transient field open as they were sealed (SECURITY.md)', () => {
    assert.equal(openToken(keys, { ...columns, sealed }).toString(), record)
    assert.equal(openTransient(keys, columns, { ...transient, sealed: sealedCode }).toString(), '"123"')
  })

  test('a record with any bit flipped or any other length does not open, and the error names its token (SECURITY.md)', () => {
    for (const { how, bytes } of damages(sealed))
      assert.throws(() => openToken(keys, { ...columns, sealed: bytes }), namesId(columns.id), how)
    for (const { how, bytes } of damages(sealedCode))
      assert.throws(
        () => openTransient(keys, columns, { ...transient, sealed: bytes }),
        namesId(columns.id),
        how,
      )
  })

  for (const [name, values] of Object.entries(otherColumns))
    for (const value of values)
      test(`a record does not open if ${name} is ${JSON.stringify(value)} (SECURITY.md)`, () => {
        const moved = { ...columns, [name]: value }
        assert.throws(() => openToken(keys, { ...moved, sealed }), namesId(moved.id))
      })

  const transientMoves: Record<string, [Partial<TokenColumns>, Partial<TransientColumns>]> = {
    'under another token': [{ id: 'another' }, {}],
    'under a token of another type': [{ type: 'token' }, {}],
    'under a token of another maker': [{ createdBy: 'another' }, {}],
    'under a token made at another time': [{ createdAt: 1_001 }, {}],
    'as another field': [{}, { field: 'pin' }],
    'with a later deadline': [{}, { expiresAt: 4_601 }],
  }
  for (const [name, [token, field]] of Object.entries(transientMoves))
    test(`a transient field does not open ${name} (C11.1)`, () => {
      const moved = { ...columns, ...token }
      assert.throws(
        () => openTransient(keys, moved, { ...transient, ...field, sealed: sealedCode }),
        namesId(moved.id),
      )
    })

  test('a transient field still opens after its token is changed (C11.5)', () => {
    const changed = { ...columns, version: 9, modifiedAt: 9_999, modifiedBy: null, expiresAt: null }
    assert.equal(openTransient(keys, changed, { ...transient, sealed: sealedCode }).toString(), '"123"')
  })

  test('a record and a transient field do not open in place of each other (C11.1)', () => {
    assert.throws(() => openToken(keys, { ...columns, sealed: sealedCode }), names)
    assert.throws(() => openTransient(keys, columns, { ...transient, sealed }), names)
  })

  test('nothing opens for another tenant, not even under the same keys (§1.3, C31.9)', () => {
    const others = [
      newTenantKeys(),
      newTenantKeys({ tenantId: keys.tenantId }),
      { ...keys, tenantId: 'another' },
    ]
    for (const other of others) {
      assert.throws(() => openToken(other, { ...columns, sealed }), TamperedError)
      assert.throws(() => openTransient(other, columns, { ...transient, sealed: sealedCode }), TamperedError)
    }
  })

  test('old rows open with the key version that sealed them; a missing version is reported, never guessed (SECURITY.md)', () => {
    const rotated = { ...keys, data: new Map([...keys.data, [2, newKey()]]), currentDataVersion: 2 }
    const young = sealToken(rotated, columns, record)
    assert.equal(openToken(rotated, { ...columns, sealed }).toString(), record)
    assert.equal(openToken(rotated, { ...columns, sealed: young }).toString(), record)
    assert.throws(() => openToken(keys, { ...columns, sealed: young }), namesId(columns.id))
    const relabelled = Buffer.from(young)
    relabelled.writeUInt32BE(1, 1)
    assert.throws(() => openToken(rotated, { ...columns, sealed: relabelled }), namesId(columns.id))
  })

  test('no row opens with the sealed part of another (SECURITY.md)', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '"', ',', '[', ']', 'null', '\\', '\0', 'é') })
    const moment = fc.integer({ min: -2, max: 2 })
    const anyColumns = fc.record({
      id: text,
      type: text,
      version: moment,
      expiresAt: fc.option(moment),
      createdBy: text,
      createdAt: moment,
      modifiedBy: fc.option(text),
      modifiedAt: fc.option(moment),
    })
    fc.assert(
      fc.property(anyColumns, anyColumns, (one, other) => {
        fc.pre(JSON.stringify(Object.entries(one)) !== JSON.stringify(Object.entries(other)))
        const part = sealToken(keys, one, record)
        assert.equal(openToken(keys, { ...one, sealed: part }).toString(), record)
        assert.throws(() => openToken(keys, { ...other, sealed: part }), namesId(other.id))
      }),
      { numRuns: 500 },
    )
  })
})
