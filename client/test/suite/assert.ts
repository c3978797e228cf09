import type { VaultError } from '../../src/main.ts'

const fail = (message = 'failed'): never => {
  throw new Error(message)
}

type Assertions = {
  fail(message?: string): never
  ok(value: unknown, message?: string): asserts value
  equal(actual: unknown, expected: unknown): void
  throws(run: () => unknown, Class: new (...input: never[]) => Error): void
}

/** The few assertions that scenarios need, in every runtime. */
export const assert: Assertions = {
  fail,
  ok: (value, message) => {
    if (!value) fail(message)
  },
  equal: (actual, expected) => {
    if (!isEqual(actual, expected))
      fail(`${JSON.stringify(actual)} is not ${JSON.stringify(expected)} (${actual})`)
  },
  throws: (run, Class) => {
    try {
      run()
    } catch (error) {
      if (error instanceof Class) return
      throw error
    }
    fail('nothing was thrown')
  },
}

const isEqual = (actual: unknown, expected: unknown): boolean =>
  actual === expected ||
  (typeof actual === 'object' &&
    actual !== null &&
    expected !== null &&
    !(actual instanceof Error) &&
    JSON.stringify(actual) === JSON.stringify(expected))

/** The error that a call ends with. */
export const rejection = async (call: Promise<unknown>): Promise<VaultError> => {
  try {
    await call
  } catch (error) {
    return error as VaultError
  }
  return fail('the call did not fail')
}
