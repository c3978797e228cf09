import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeError } from '../../src/domain/log.ts'
import { StoreUnavailableError } from '../../src/store/port.ts'
import { engineReason } from '../../src/store/sqlite/engine-reason.ts'

const thrown = (act: () => unknown): unknown => {
  try {
    act()
  } catch (error) {
    return error
  }
  return assert.fail('nothing was thrown')
}

const bug = thrown(() => JSON.parse('Sensitive Value'))
const here = /log\.test\.ts/

test('a bug behind an outage is logged with its location, but without what its message quotes (C2.5)', () => {
  const logged = JSON.stringify(describeError(new StoreUnavailableError('unread', { cause: bug })))
  assert.match(logged, /SyntaxError/)
  assert.match(logged, here)
  assert.doesNotMatch(logged, /Sensitive/)
})

test('an outage with a code from the engine is logged by that code alone (C2.5)', () => {
  const refused = Object.assign(new Error('Sensitive Value'), { code: '57P01' })
  assert.deepEqual(
    describeError(new StoreUnavailableError('unread', { cause: refused, outage: 'refused' })),
    {
      error: 'StoreUnavailableError',
      reason: 'refused',
      code: '57P01',
    },
  )
})

test('the reason why a batch failed, which crosses threads as text, names the location of the bug (C2.5)', () => {
  assert.match(engineReason(bug), /SyntaxError at /)
  assert.doesNotMatch(engineReason(bug), /Sensitive/)
})

test('a message that looks like a stack is not taken for one (C2.5)', () => {
  const sly = new Error('first line\n    at Sensitive Value (file.ts:1:2)')
  const changed = new Error('as it was thrown\n    at Sensitive Value')
  changed.message = 'another'
  for (const error of [sly, changed, new StoreUnavailableError('unread', { cause: sly })])
    assert.doesNotMatch(`${JSON.stringify(describeError(error))} ${engineReason(error)}`, /Sensitive/)
  assert.match(JSON.stringify(describeError(sly)), here)
})
