import './follow-tests-alone.ts'

const { test } = await import('node:test')

test('C1.1 goes on after an error that nobody catches', () => {
  setImmediate(() => {
    throw new Error('unheard')
  })
  return new Promise(() => setInterval(() => {}, 60_000))
})
