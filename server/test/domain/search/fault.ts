import assert from 'node:assert/strict'
import { VaultError } from '../../../src/domain/errors.ts'

/** What is wrong with the query, as the caller would read it. Fails if nothing is. */
export const faultOf = (run: () => unknown): string => {
  try {
    run()
  } catch (error) {
    assert.ok(error instanceof VaultError, 'a fault must be one of the catalogue')
    assert.equal(error.code, 'invalidRequest')
    assert.deepEqual(
      error.issues.map(issue => issue.path),
      ['query'],
    )
    return error.issues[0]!.message
  }
  assert.fail('the query was taken')
}

export const positionOf = (message: string): number => Number(/, at character (\d+)$/.exec(message)?.[1])
