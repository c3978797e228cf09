import type { Budget, Dialect } from '../expressions/budget.ts'
import { prices } from '../expressions/budget.ts'
import { ExpressionError } from '../expressions/expression-error.ts'
import { type CompiledFilter, compileFilterCall } from '../expressions/filter-call.ts'
import { leadsSomewhere } from '../expressions/operand.ts'
import { parseFilterChain } from '../expressions/parser.ts'
import type { Json } from '../json/json.ts'
import { limits } from '../limits.ts'
import { Memo } from '../memo.ts'
import { countCharacters } from '../text/characters.ts'

/** The filters behind a token's id, ready to run. Error positions count from the chain's first `|`. */
export type FilterChain = {
  /** It gives whole values only, never a part of one (U11). */
  readonly cutsNothing: boolean
  readonly apply: (value: Json, work: Work) => Json
}

export type Work = {
  readonly budget: Budget
  readonly configuration?: Readonly<Record<string, string>> | undefined
}

const chainsKept = 2_000

const known: Readonly<Record<Dialect, Memo<FilterChain>>> = {
  detokenize: new Memo(chainsKept),
  proxy: new Memo(chainsKept),
  transform: new Memo(chainsKept),
}

/** Throws ExpressionError for anything wrong with the text. What holds a key of `hmac` is not remembered. */
export const compileFilterChain = (text: string, dialect: Dialect): FilterChain =>
  text.includes('hmac')
    ? compile(text, dialect)
    : known[dialect].getOrMake(text, () => compile(text, dialect))

const compile = (text: string, dialect: Dialect): FilterChain => {
  if (countCharacters(text) > limits.expressionCharactersMax)
    throw new ExpressionError(`the filters must have at most ${limits.expressionCharactersMax} characters`)
  const steps = stepsOf(parseFilterChain(text).map(call => compileFilterCall(call, dialect)))
  return {
    cutsNothing: steps.every(({ filter }) => filter.cutsNothing),
    apply: (value, { budget, configuration }) => {
      const scope = { data: null, ...(configuration && { configuration }) }
      const run = { scope, use: dialect, random: undefined, budget }
      let current = value
      for (const { filter, apply, mayBeMissing } of steps) {
        budget.charge(prices.filterCall)
        const before = current
        current = apply(before, run)
        if (current === null && !mayBeMissing && isMissing(before, filter))
          throw new ExpressionError(`${filter.name}: leads nowhere`, filter.position)
      }
      return current
    },
  }
}

type Step = {
  readonly filter: CompiledFilter
  readonly apply: CompiledFilter['apply']
  /** U4: `default` follows. */
  readonly mayBeMissing: boolean
}

const stepsOf = (filters: readonly CompiledFilter[]): Step[] =>
  filters.map((filter, index) => {
    const before = filters[index - 1]
    if (before?.makesBytes && filter.applyToBytes === undefined) throw needsEncoding(before)
    if (filter.makesBytes && index === filters.length - 1) throw needsEncoding(filter)
    const { applyToBytes } = filter
    return {
      filter,
      apply:
        before?.makesBytes && applyToBytes !== undefined
          ? bytes => applyToBytes(String(bytes))
          : filter.apply,
      mayBeMissing: filters.slice(index + 1).some(({ name }) => name === 'default'),
    }
  })

const needsEncoding = ({ name, position }: CompiledFilter): ExpressionError =>
  new ExpressionError(`${name} must be followed by to_base16 or to_base64`, position)

/** A null that is there is a value; one that stands for nothing is not (U4). */
const isMissing = (input: Json, { names, nullIsMissing }: CompiledFilter): boolean =>
  nullIsMissing || (names.length > 0 && !leadsSomewhere(input, names))
