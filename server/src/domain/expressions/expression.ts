import type { Json, JsonType } from '../json/json.ts'
import { Memo } from '../memo.ts'
import { countCharacters } from '../text/characters.ts'
import { type Budget, budgetFor, type RandomBelow, type Scope, type Use } from './budget.ts'
import { compile, type OutputShape } from './compile.ts'
import { inCharacters } from './expression-error.ts'

/**
 * An expression of the language of §2.1 and C20–C22, `{{ path | filter: argument }}` in literal text, ready to be
 * rendered. The language is pure and bounded: no I/O, no clock, no loops, no regular expressions on what callers write,
 * a budget for every rendering. Both the texts and the data that they meet may be hostile.
 */
export type Expression = {
  /**
   * Every path that the text names, such as [['data', 'number']]; array indexes as strings. Complete: the
   * language has no computed property names.
   */
  readonly paths: readonly (readonly string[])[]
  /** The same paths by output, in order. */
  readonly outputs: readonly OutputShape[]
  /** It makes a new value each time it is rendered (C16). */
  readonly hasAlias: boolean
  /** It has no `{{ }}` and renders to its own text. */
  readonly isLiteral: boolean
  /**
   * Throws ExpressionError. The result may share structure with the scope, so it must not be changed. The leaves of one
   * mask should share a budget, `budgetFor('mask', scope)`: one each would let 800 of them show a large value 800
   * times.
   */
  render(scope: Scope, random?: RandomBelow, budget?: Budget): Json
  /**
   * Adds the JSON type that a fingerprint counts (C14): that of the value, or of the last filter's input if the filter
   * keeps it.
   */
  renderTyped(scope: Scope, budget?: Budget): { value: Json; type: JsonType }
}

const expressionsKeptPerUse = 2_000

const caches: Readonly<Record<Use, Memo<Expression>>> = {
  mask: new Memo(expressionsKeptPerUse),
  fingerprint: new Memo(expressionsKeptPerUse),
  index: new Memo(expressionsKeptPerUse),
  id: new Memo(expressionsKeptPerUse),
}

/** Throws ExpressionError, with the position, for anything wrong with the text itself. */
export const compileExpression = (text: string, use: Use): Expression =>
  caches[use].getOrMake(text, () => makeExpression(text, use))

const makeExpression = (text: string, use: Use): Expression => {
  const {
    outputs,
    hasAlias,
    isLiteral,
    evaluate: evaluated,
  } = withCharacterPositions(text, () => compile(text, use))()
  const evaluate = withCharacterPositions(text, evaluated)
  return {
    paths: outputs.flatMap(({ paths }) => paths),
    outputs,
    hasAlias,
    isLiteral,
    render: (scope, random, budget = budgetFor(use, scope)) => evaluate({ scope, use, random, budget }).value,
    renderTyped: (scope, budget = budgetFor(use, scope)) =>
      evaluate({ scope, use, random: undefined, budget }),
  }
}

/** The same work, with error positions in characters of the text. In most texts a character is one UTF-16 unit. */
const withCharacterPositions = <A extends unknown[], T>(
  text: string,
  work: (...given: A) => T,
): ((...given: A) => T) => {
  if (countCharacters(text) === text.length) return work
  return (...given) => {
    try {
      return work(...given)
    } catch (error) {
      throw inCharacters(error, text)
    }
  }
}
