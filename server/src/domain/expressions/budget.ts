import { limits } from '../limits.ts'
import { ExpressionError } from './expression-error.ts'

/**
 * How often one rendering may go over its whole input, on top of the fixed base. A filter pays for reading and
 * for producing, so this lets about eight filters in a row work on a value of the largest legal size.
 */
export const stepsPerInputCharacter = 16

/**
 * C20: the bound on one rendering, counted in characters and elements instead of time, so that the same
 * expression on the same value always ends the same way. Filters charge before they allocate. The size of the
 * input counts only once the base is used up: ordinary expressions never pay for measuring it.
 */
export class Budget {
  readonly #measureInput: () => number
  #steps = 0
  #stepsAllowed: number = limits.expressionSteps
  #output = 0
  #outputAllowed: number = limits.expressionOutputCharacters
  #extended = false

  constructor(measureInput: () => number) {
    this.#measureInput = measureInput
  }

  get stepsSpent(): number {
    return this.#steps
  }

  /** Pays for work: characters or elements that are about to be read or produced. */
  charge(units: number): void {
    if (this.#steps + units > this.#stepsAllowed) this.#extend()
    if (this.#steps + units > this.#stepsAllowed) throw tooMuchWork()
    this.#steps += units
  }

  /** Pays for characters that leave the expression. */
  chargeOutput(characters: number): void {
    if (this.#output + characters > this.#outputAllowed) this.#extend()
    if (this.#output + characters > this.#outputAllowed) throw tooMuchWork()
    this.#output += characters
  }

  #extend(): void {
    if (this.#extended) return
    this.#extended = true
    const size = this.#measureInput()
    this.#stepsAllowed += size * stepsPerInputCharacter
    this.#outputAllowed += size
  }
}

const tooMuchWork = (): ExpressionError => new ExpressionError('too much work')
