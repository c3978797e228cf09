import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type GrantKind, openGrant, sealGrant } from '../../src/crypto/grant-seal.ts'
import type { Application } from '../../src/domain/access/application.ts'
import { TamperedError } from '../../src/domain/tampered-error.ts'
import { damages } from './damages.ts'
import { newVaultKeys } from './test-keys.ts'

describe('sealed grants', () => {
  const keys = newVaultKeys()
  const identity = ['the id', 'the tenant', 'the application', 5, null]
  const grant: Application = {
    id: 'the id',
    tenantId: 'the tenant',
    name: 'ü',
    type: 'private',
    permissions: ['token:read'],
    rules: [],
    createdBy: 'the owner',
    createdAt: 5,
  }
  const sealed = sealGrant(keys, 'application', identity, grant)
  const namesRow = (error: unknown): boolean =>
    error instanceof TamperedError && error.row.kind === 'application' && error.row.id === 'the id'

  test('a grant opens as it was sealed (C28.1)', () => {
    assert.deepEqual(openGrant(keys, 'application', identity, sealed), grant)
    assert.ok(!sealed.includes('token:read'))
  })

  test('a grant with any bit flipped or any other length does not open, and the error names its row (C28.1)', () => {
    for (const { how, bytes } of damages(sealed))
      assert.throws(() => openGrant(keys, 'application', identity, bytes), namesRow, how)
  })

  test('a grant opens under no other key (C28.1)', () => {
    assert.throws(() => openGrant(newVaultKeys(), 'application', identity, sealed), namesRow)
    assert.throws(
      () => openGrant({ ...keys, grants: keys.apiKeys }, 'application', identity, sealed),
      namesRow,
    )
  })

  for (const kind of ['tenant', 'api-key', 'proxy', 'webhook'] as GrantKind[])
    test(`the grant of an application does not open in a row of kind ${kind} (C28.1)`, () => {
      assert.throws(() => openGrant(keys, kind, identity, sealed), TamperedError)
    })

  const others: Record<string, (string | number | null)[]> = {
    'with another id': ['another', ...identity.slice(1)],
    'with another tenant': ['the id', 'another', ...identity.slice(2)],
    'with two parts swapped': ['the id', 'the application', 'the tenant', 5, null],
    'with a number as text': ['the id', 'the tenant', 'the application', '5', null],
    'with null as text': ['the id', 'the tenant', 'the application', 5, 'null'],
    'with one part fewer': identity.slice(0, -1),
    'with one part more': [...identity, null],
    'with two parts joined into one': ['the id', 'the tenant","the application', 5, null],
  }
  for (const [name, other] of Object.entries(others))
    test(`a grant does not open in a row ${name} (C28.1)`, () => {
      assert.throws(() => openGrant(keys, 'application', other, sealed), TamperedError)
    })
})
