import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contradiction } from '../../src/domain/limits.ts'

test('the default limits do not contradict each other (C8.1)', () =>
  assert.equal(contradiction({}), undefined))
