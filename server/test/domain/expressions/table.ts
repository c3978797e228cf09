import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RandomBelow, Use } from '../../../src/domain/expressions/budget.ts'
import { compileExpression } from '../../../src/domain/expressions/expression.ts'
import { ExpressionError } from '../../../src/domain/expressions/expression-error.ts'
import { type Json, stringify } from '../../../src/domain/json/json.ts'

/** Expected of a row that must fail: part of the message. */
export type Failure = { readonly fails: string }
export const fails = (message: string): Failure => ({ fails: message })
const isFailure = (value: Json | Failure): value is Failure =>
  typeof value === 'object' && value !== null && 'fails' in value

/** An expression, or just what follows `{{ data | `; the data; and the result. */
export type Row = readonly [text: string, data: Json, expected: Json | Failure]

export const render = (text: string, data: Json, use: Use = 'index', random?: RandomBelow): Json =>
  compileExpression(text, use).render({ data }, random)

/** One test for each row, named after the row's text. */
export const table = (rule: string, use: Use, rows: readonly Row[]): void => {
  for (const [text, data, expected] of rows) {
    const expression = text.includes('{{') ? text : `{{ data | ${text} }}`
    test(`${rule}: ${text} on ${stringify(data).slice(0, 60)}`, () => {
      if (isFailure(expected))
        assert.throws(
          () => render(expression, data, use),
          error => error instanceof ExpressionError && error.message.includes(expected.fails),
        )
      else assert.deepEqual(render(expression, data, use), expected)
    })
  }
}
