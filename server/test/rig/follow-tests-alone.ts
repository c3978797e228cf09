import hooks, { AsyncResource } from 'node:async_hooks'

/**
 * Node's test runner follows every promise, timer and socket back to the test that made it, to know whom an uncaught error belongs
 * to: a sixth of the processor time of suites that send tens of thousands of requests. Imported before `node:test`, this lets it
 * follow the tests alone.
 *
 * An uncaught error then ends the process. In a run of its file alone, without this, Node tells the test.
 */
const { createHook } = hooks
hooks.createHook = ({ init }) =>
  createHook({
    init: (id, type, trigger, resource) => {
      if (resource instanceof AsyncResource) init?.(id, type, trigger, resource)
    },
    trackPromises: false,
  })

for (const event of ['uncaughtException', 'unhandledRejection'])
  process.prependListener(event, (error: unknown) => {
    console.error('All tests of this process end, because nobody caught this:', error)
    process.exit(1)
  })
