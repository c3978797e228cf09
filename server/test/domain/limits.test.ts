import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contradiction } from '../../src/domain/limits.ts'

test('C8.1 the limits do not contradict each other where an operator sets none', () =>
  assert.equal(contradiction({}), undefined))
