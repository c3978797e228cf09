import './follow-tests-alone.ts'

const { test } = await import('node:test')

test('goes on after an error that nobody catches', () => {
  setImmediate(() => {
    throw new Error('unheard')
  })
  return new Promise(() => setInterval(() => {}, 60_000))
})
