import { limits } from '../limits.ts'
import { ExpressionError } from './expression-error.ts'

/**
 * C20: what a rendering may still spend. A step is a nanosecond of work as it was measured (docs/decisions/0020), so that a step of
 * one filter takes as long as a step of any other, and the same expression on the same value always ends the same way. Filters pay
 * before they work. The size of the input counts only once the base is used up: ordinary expressions never pay for measuring it.
 */
export class Budget {
  readonly #within: Budget | undefined
  #sizeOfInput: (() => number) | undefined
  #steps: number
  #spent = 0
  #output: number

  /** With `within`, it is part of another: what is spent of it is spent of both. */
  constructor(
    steps: number,
    sizeOfInput?: () => number,
    within?: Budget,
    outputCharacters: number = limits.expressionOutputCharacters,
  ) {
    this.#steps = steps
    this.#output = outputCharacters
    this.#sizeOfInput = sizeOfInput
    this.#within = within
  }

  get spent(): number {
    return this.#spent
  }

  /** Once spent, every rendering fails, so an empty mask no longer proves that nothing is disclosed. */
  get isSpent(): boolean {
    return this.#steps < 0 || this.#within?.isSpent === true
  }

  charge(steps: number): void {
    if (steps > this.#steps) this.#extend()
    if (steps > this.#steps) {
      this.#steps = -1
      throw new ExpressionError(tooMuchWork)
    }
    this.#within?.charge(steps)
    this.#steps -= steps
    this.#spent += steps
  }

  /** Pays for characters that leave the expression. */
  chargeOutput(characters: number): void {
    if (characters > this.#output) this.#extend()
    if (characters > this.#output) {
      this.#steps = -1
      throw new ExpressionError(tooMuchWork)
    }
    this.#output -= characters
  }

  #extend(): void {
    const size = this.#sizeOfInput?.() ?? 0
    this.#sizeOfInput = undefined
    if (this.isSpent) return
    this.#steps += size * limits.expressionStepsPerCharacter
    this.#output += size
  }
}

/** For what no caller wrote. */
export const unlimited = new Budget(Number.POSITIVE_INFINITY, undefined, undefined, Number.POSITIVE_INFINITY)

export const tooMuchWork = 'takes too much work to evaluate'
