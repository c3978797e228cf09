import { Budget, prices } from '../expressions/budget.ts'
import { ExpressionError } from '../expressions/expression-error.ts'
import { sizeOf } from '../expressions/size.ts'
import { payForOutput } from '../expressions/values.ts'
import { getOwn, type Json, stringify } from '../json/json.ts'
import { limits } from '../limits.ts'
import { inText, moved, type TokenExpression, type TokenTemplate } from './template.ts'

/** What the expressions of one caller may take from a token. The decision is made before any filter runs (U3). */
export type ShownToken = {
  /** The data as this caller sees it, or uses it; undefined where the rule shows none. */
  readonly data: () => Json | undefined
  /** The token as `GET` would show it; undefined for those who may only use it (U11). */
  readonly object: () => Json | undefined
  /** Whether any filter may be applied, or only those that cut nothing (U11). */
  readonly mayBeCut: boolean
}

/** What a template reads. */
export type TokenValues = {
  /** Undefined for an id that leads to nothing that the caller may see, whatever the reason. */
  readonly token: (id: string) => ShownToken | undefined
  readonly configuration?: Readonly<Record<string, string>>
}

/** One and the same for an id that is unknown, expired, foreign or not covered (U4). It never repeats the id. */
export class AbsentTokenError extends ExpressionError {
  constructor() {
    super('There is no such token.')
    this.name = 'AbsentTokenError'
  }
}

/**
 * The value of one expression of the text. What it may cost is bounded like any other rendering, and taken from what the whole request
 * may cost too (C20). Throws ExpressionError.
 */
export const evaluate = (
  { text }: Pick<TokenTemplate, 'text'>,
  expression: TokenExpression,
  values: TokenValues,
  request: Budget,
): Json =>
  inText(text, () => {
    const { chain, chainPosition } = expression
    const source = sourceOf(expression, values)
    const budget = new Budget(limits.expressionSteps, () => sizeOf(source), request)
    budget.charge(prices.output)
    const work = { budget, configuration: values.configuration }
    const value = chain === undefined ? source : moved(chainPosition, () => chain.apply(source, work))
    payForOutput(value, budget)
    return value
  })

const sourceOf = (expression: TokenExpression, values: TokenValues): Json => {
  const { source, position } = expression
  if (source.kind === 'text') return source.text
  if (source.kind === 'config') {
    const configured = getOwn(values.configuration ?? {}, source.key)
    if (configured !== undefined) return configured
    throw new ExpressionError('there is no such key in the configuration', position)
  }
  const shown = values.token(source.id)
  if (shown === undefined) throw new AbsentTokenError()
  return takenFrom(shown, source.kind, expression)
}

const takenFrom = (
  shown: ShownToken,
  kind: 'data' | 'object',
  { chain, chainPosition, position }: TokenExpression,
): Json => {
  if (!shown.mayBeCut && chain?.cutsNothing === false) throw new ExpressionError(onlyWhole, chainPosition)
  const taken = kind === 'data' ? shown.data() : shown.object()
  if (taken !== undefined) return taken
  throw kind === 'data' ? new ExpressionError(nothingShown) : new ExpressionError(onlyWhole, position)
}

const nothingShown = 'Your rule shows no data of this token.'
const onlyWhole =
  'a token that the caller may only use is sent whole or by a path; it can be neither cut nor encoded nor hashed'

/**
 * The template with the values of its expressions, in order. Exactly one expression keeps the JSON type of its value. In mixed text,
 * strings go in as they are and other values as compact JSON. Nothing of it is parsed again (U3).
 */
export const assemble = ({ parts }: TokenTemplate, values: readonly Json[]): Json => {
  if (parts.length === 1 && values.length === 1) return values[0] ?? null
  let next = 0
  let text = ''
  for (const part of parts) text += typeof part === 'string' ? part : textOf(values[next++] ?? null)
  return text
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : stringify(value))
