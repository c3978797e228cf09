import type { Json } from '../json/json.ts'
import { chosenName } from '../place.ts'
import { didYouMean } from '../text/did-you-mean.ts'
import { type Dialect, type Run, type Use, unlimited } from './budget.ts'
import { ExpressionError } from './expression-error.ts'
import type { Filter, Parameter } from './filters/filter.ts'
import { filters } from './filters/registry.ts'
import { compileOperand } from './operand.ts'
import type { FilterCall, Operand, Segment } from './syntax.ts'

export type CompiledFilter = {
  readonly apply: (input: Json, run: Run) => Json
  readonly name: string
  readonly position: number
  /** Properties of the input that the call names; see `Filter.names`. */
  readonly names: readonly Segment[]
  readonly applyToBytes: Filter['applyToBytes']
} & Required<
  Pick<
    Filter,
    | 'isAlias'
    | 'keepsCharacters'
    | 'showsWhole'
    | 'keepsInputType'
    | 'cutsNothing'
    | 'makesBytes'
    | 'nullIsMissing'
  >
>

export const compileFilterCall = (call: FilterCall, use: Use | Dialect): CompiledFilter => {
  const { name, position } = call
  const filter = filters.get(name)
  if (filter === undefined) throw unknownFilter(name, position)
  const { isAlias = false, keepsCharacters = false, showsWhole = false, keepsInputType = false } = filter
  const { cutsNothing = false, makesBytes = false, nullIsMissing = false, applyToBytes } = filter
  if (isAlias && use !== 'id') throw new ExpressionError(`${name} is only for ids`, position)
  if (filter.onlyIn !== undefined && !filter.onlyIn.includes(use))
    throw new ExpressionError(`${name} is not for this place`, position)
  requireArity(call, filter)
  const compiled = filter.parameters.map((parameter, index) => {
    const operand = call.arguments[index]
    if (operand === undefined) return () => parameter.fallback?.value
    return located(name, operand.position, () => compileArgument(parameter, operand, use))
  })
  // Almost every call is written with literals; they are read once, here.
  const isConstant = call.arguments.every(({ kind }) => kind === 'literal')
  const constants = isConstant ? compiled.map(read => read(compileTimeRun(use))) : undefined
  return {
    name,
    position,
    isAlias,
    keepsCharacters,
    showsWhole,
    keepsInputType,
    cutsNothing,
    makesBytes,
    nullIsMissing,
    applyToBytes,
    // Parameters that name properties are always literal, so reading them needs no data.
    names: filter.names?.(...compiled.map(read => read(compileTimeRun(use)))) ?? [],
    apply: (input, run) => {
      try {
        return filter.apply(input, run, ...(constants ?? compiled.map(read => read(run))))
      } catch (error) {
        throw locate(error, name, position)
      }
    },
  }
}

/** Names the filter as the caller wrote it, unless it looks as if a number had been pasted there (C2). */
const unknownFilter = (name: string, position: number): ExpressionError => {
  const shown = chosenName(name, 0)
  const named = shown.startsWith('[') ? '' : ` "${shown}"`
  return new ExpressionError(`unknown filter${named}${didYouMean(name, [...filters.keys()])}`, position)
}

const requireArity = ({ name, position, arguments: given }: FilterCall, { parameters }: Filter): void => {
  const least = parameters.filter(({ fallback }) => fallback === undefined).length
  const most = parameters.length
  if (given.length < least || given.length > most)
    throw new ExpressionError(`${name} takes ${describeArity(least, most)}`, position)
}

const describeArity = (least: number, most: number): string => {
  const end = most === 1 ? 'argument' : 'arguments'
  if (most === 0) return `no ${end}`
  if (least === 0) return `at most ${most} ${end}`
  if (least === most) return `${most} ${end}`
  return `${least} ${most === least + 1 ? 'or' : 'to'} ${most} ${end}`
}

/** A literal is read now: a wrong argument must be found when the expression is written, not when it is rendered (C20). */
const compileArgument = (
  parameter: Parameter<unknown>,
  operand: Operand,
  use: Use | Dialect,
): ((run: Run) => unknown) => {
  const { fallback, isLiteralOnly } = parameter
  const readValue = (value: Json, run: Run): unknown =>
    value === null && fallback !== undefined ? fallback.value : parameter.read(value, run)

  if (operand.kind === 'literal') {
    const value = readValue(operand.value, compileTimeRun(use))
    return () => value
  }
  if (isLiteralOnly) throw new ExpressionError('quoted text is needed')
  const source = compileOperand(operand, use)
  return run => readValue(source(run), run)
}

/** Literals are as short as the expression. */
const compileTimeRun = (use: Use | Dialect): Run => ({
  scope: { data: null },
  use,
  random: undefined,
  budget: unlimited,
})

/** Runs the work. Its errors say which filter failed and where it stands. */
const located = <T>(name: string, position: number, work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw locate(error, name, position)
  }
}

const locate = (error: unknown, name: string, position: number): unknown =>
  error instanceof ExpressionError && error.position === undefined
    ? new ExpressionError(`${name}: ${error.problem}`, position)
    : error
