import { countCharacters } from '../text/characters.ts'

/**
 * What is wrong with an expression, or with the value it met. The message consists of constant text and names of the
 * language: a data value never gets into it (C2). `position` is 0-based; the message counts from 1.
 */
export class ExpressionError extends Error {
  readonly problem: string
  readonly position: number | undefined

  constructor(problem: string, position?: number) {
    super(position === undefined ? problem : `${problem}, at character ${position + 1}`)
    this.name = 'ExpressionError'
    this.problem = problem
    this.position = position
  }
}

/** The same error, its position converted from a UTF-16 offset to characters of the text (C8). */
export const inCharacters = (error: unknown, text: string): unknown =>
  error instanceof ExpressionError && error.position !== undefined
    ? new ExpressionError(error.problem, countCharacters(text.slice(0, error.position)))
    : error
