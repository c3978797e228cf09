import type { Json } from '../json/json.ts'
import { limits } from '../limits.ts'
import { ExpressionError } from './expression-error.ts'
import { sizeOf } from './size.ts'

/** What an expression is for. Masks hide short values whole, fingerprints see metadata, ids may use aliases. */
export type Use = 'mask' | 'fingerprint' | 'index' | 'id'

/** Where an expression names tokens instead of reading the data of its own (U2): in a payload to detokenize or to proxy, or in a proxy's own transforms. */
export type Dialect = 'detokenize' | 'proxy' | 'transform'

export type Scope = {
  data: Json
  metadata?: Readonly<Record<string, string>>
  /** What `config: <key>` reads (U12). */
  configuration?: Readonly<Record<string, string>>
}

/** Uniform integer in [0, below). Only alias filters call it. */
export type RandomBelow = (below: number) => number

/** One rendering: what it reads, what it is for, and what it may still spend. */
export type Run = {
  readonly scope: Scope
  readonly use: Use | Dialect
  readonly budget: Budget
  readonly random: RandomBelow | undefined
}

const baseSteps: Readonly<Record<Use, number>> = {
  mask: limits.expressionSteps,
  id: limits.expressionSteps,
  index: limits.hashedExpressionSteps,
  fingerprint: limits.hashedExpressionSteps,
}

/** What a whole mask, all indexes of a token, a fingerprint or an id may spend on this scope. */
export const budgetFor = (use: Use, { data, metadata }: Scope, within?: Budget): Budget =>
  new Budget(baseSteps[use], () => sizeOf(data) + sizeOf(metadata ?? null), within)

/**
 * C20: what a rendering may still spend. A step is a nanosecond of measured work (docs/decisions/0020), so a step of one filter takes as
 * long as a step of any other, and the same expression on the same value always ends the same way. Filters pay before they work. The
 * size of the input counts only when the base is used up, so ordinary expressions never pay for measuring it.
 */
export class Budget {
  readonly #within: Budget | undefined
  #sizeOfInput: (() => number) | undefined
  #steps: number
  #spent = 0
  #output: number

  /** With `within`, this budget is part of another: spending from it spends from both. */
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

/** For expressions that no caller wrote. */
export const unlimited = new Budget(Number.POSITIVE_INFINITY, undefined, undefined, Number.POSITIVE_INFINITY)

export const tooMuchWork = 'takes too much work to evaluate'

/**
 * What work costs, in steps of about a nanosecond of CPU, as docs/decisions/0020 measures it, rounded up. Prices of a single filter
 * stand beside it.
 */
export const prices = {
  /** An output or a literal text between outputs. */
  output: 300,
  filterCall: 200,
  pathSegment: 60,
  /** A leaf of a mask beside its expression, and a list or an object. */
  maskLeaf: 100,
  maskListOrObject: 300,

  /** A character that leaves the expression, to be written into an answer or hashed. */
  shownCharacter: 4,
  /** A value within a list or an object that leaves it. */
  shownValue: 40,
  /** A character that the engine reads or copies at once: `slice`, `repeat`, `trim`. */
  copiedCharacter: 1,
  /** A character that a loop of ours looks at. */
  walkedCharacter: 40,
  /** A character that becomes a text of its own. */
  cutCharacter: 40,

  /** An element that is copied into another list. */
  element: 20,
  /** A text in a list that is made or joined. */
  piece: 120,
  /** A list or an object that is written as JSON, each value in it, and each of its characters. */
  writing: 400,
  writtenValue: 60,
  writtenCharacter: 4,
  /** The same in canonical form, with its keys in order. */
  canonicalValue: 400,
  canonicalCharacter: 12,
  /** A number that becomes text. */
  numberText: 250,
  /** A number that JavaScript writes with an exponent, or that no double holds. */
  numberInDigits: 2_500,
} as const
