import assert from 'node:assert/strict'
import { test } from 'node:test'
import { containerTerm, directContainerTerm } from '../../src/domain/tokens/index-terms.ts'
import { hashTerm } from '../../src/operations/tokens/hash-terms.ts'
import { newTenantKeys } from '../crypto/test-keys.ts'

test('hashes of containers are remembered without being mixed up, however many there are (C24.6)', () => {
  const [keys, others] = [newTenantKeys(), newTenantKeys()]
  const hex = (by: typeof keys, term = containerTerm) =>
    Array.from({ length: 3_000 }, (_, i) => hashTerm({ keys: by }, term(`/c${i}/`)).toString('hex'))
  const first = hex(keys)
  assert.deepEqual(hex(keys), first)
  assert.equal(new Set([...first, ...hex(others), ...hex(keys, directContainerTerm)]).size, 9_000)
})
