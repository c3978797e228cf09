import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contradiction } from '../../src/domain/limits.ts'

test('C8.1 the default limits do not contradict each other', () => assert.equal(contradiction({}), undefined))
