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
  readonly #allowance: Allowance | undefined
  #steps = 0
  #stepsAllowed: number
  #output = 0
  #outputAllowed: number = limits.expressionOutputCharacters
  #extended = false

  constructor(steps: number, measureInput: () => number, allowance?: Allowance) {
    this.#stepsAllowed = steps
    this.#measureInput = measureInput
    this.#allowance = allowance
  }

  get stepsSpent(): number {
    return this.#steps
  }

  /** Pays for work: characters or elements that are about to be read or produced. */
  charge(units: number): void {
    if (this.#steps + units > this.#stepsAllowed) this.#extend()
    if (this.#steps + units > this.#stepsAllowed) throw new ExpressionError(tooMuchWork)
    this.#allowance?.take(units)
    this.#steps += units
  }

  /**
   * Pays for characters that leave the expression. Whoever produced them has paid for the work, so each text or element
   * takes one step of the allowance; one for each character would keep two indexes from showing a megabyte.
   */
  chargeOutput(characters: number): void {
    if (this.#output + characters > this.#outputAllowed) this.#extend()
    if (this.#output + characters > this.#outputAllowed) throw new ExpressionError(tooMuchWork)
    this.#allowance?.take(1)
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

/**
 * What several renderings may spend together, such as all of one request: a payload may hold a thousand tokens, and a mask of a card is
 * rendered some sixty times when it is judged (C13). Without this bound, one body of 160 kB kept the vault busy for
 * more than a minute.
 */
export class Allowance {
  #stepsLeft: number
  readonly #within: Allowance | undefined

  /** With `within`, it is part of another: what is taken of it is taken of both. */
  constructor(steps: number = limits.expressionStepsPerRequest, within?: Allowance) {
    this.#stepsLeft = steps
    this.#within = within
  }

  /** Once spent, every rendering fails, so an empty mask no longer proves that nothing is disclosed. */
  get isSpent(): boolean {
    return this.#stepsLeft < 0
  }

  take(units: number): void {
    this.#within?.take(units)
    this.#stepsLeft -= units
    if (this.isSpent) throw new ExpressionError(tooMuchWork)
  }
}

export const tooMuchWork = 'takes too much work to evaluate'
