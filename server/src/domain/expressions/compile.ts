import { type Json, type JsonType, jsonType } from '../json/json.ts'
import { prices, type Run, type Use } from './budget.ts'
import { ExpressionError } from './expression-error.ts'
import { type CompiledFilter, compileFilterCall } from './filter-call.ts'
import { type CompiledOperand, compileOperand } from './operand.ts'
import { parseTemplate } from './parser.ts'
import type { Operand, Output } from './syntax.ts'
import { payForOutput, textOf } from './values.ts'

export type Typed = { readonly value: Json; readonly type: JsonType }

/** What one `{{ }}` reads, known without any data. */
export type OutputShape = {
  readonly paths: readonly (readonly string[])[]
  /** It renders all of what it reads, with nothing selected or computed. */
  readonly isWhole: boolean
}

export type Compiled = {
  readonly outputs: readonly OutputShape[]
  readonly hasAlias: boolean
  readonly isLiteral: boolean
  readonly evaluate: (run: Run) => Typed
}

export const compile = (text: string, use: Use): Compiled => {
  const template = parseTemplate(text)
  const parts = template.map(part => (typeof part === 'string' ? part : compileOutput(part, use)))
  const outputs = parts.filter(part => typeof part !== 'string')
  return {
    outputs,
    hasAlias: outputs.some(({ hasAlias }) => hasAlias),
    isLiteral: outputs.length === 0,
    evaluate: evaluatorOf(parts),
  }
}

type CompiledOutput = OutputShape & {
  readonly evaluate: (run: Run) => Typed
  readonly hasAlias: boolean
}

/** A template of exactly one output keeps its JSON type, anything else becomes text (C20). */
const evaluatorOf = (parts: readonly (string | CompiledOutput)[]): Compiled['evaluate'] => {
  const [only] = parts
  if (parts.length === 1 && only !== undefined && typeof only !== 'string')
    return run => {
      const typed = only.evaluate(run)
      payForOutput(typed.value, run.budget)
      return typed
    }
  return run => ({ value: joinParts(parts, run), type: 'string' })
}

const joinParts = (parts: readonly (string | CompiledOutput)[], run: Run): string => {
  let text = ''
  for (const part of parts) {
    const more = typeof part === 'string' ? part : textOf(part.evaluate(run).value, run)
    run.budget.charge(prices.output + more.length * prices.shownCharacter)
    run.budget.chargeOutput(more.length)
    text += more
  }
  return text
}

const compileOutput = (output: Output, use: Use): CompiledOutput => {
  const source = compileOperand(output.source, use)
  const filters = output.filters.map(call => compileFilterCall(call, use))
  requireTextAfterAlias(output, filters)
  return {
    paths: staticPaths(output, filters),
    isWhole: filters.every(({ showsWhole }) => showsWhole),
    hasAlias: filters.some(({ isAlias }) => isAlias),
    evaluate: run => evaluateOutput(source, filters, run),
  }
}

/** C21: an alias is random enough only as a whole. A filter that takes from it, such as `slice: 0, 3`, could leave too little. */
const requireTextAfterAlias = (output: Output, filters: readonly CompiledFilter[]): void => {
  const alias = filters.findIndex(({ isAlias }) => isAlias)
  if (alias === -1) return
  output.filters.forEach(({ name, position }, index) => {
    const follower = filters[index]
    if (index > alias && follower?.isAlias !== true && follower?.keepsCharacters !== true)
      throw new ExpressionError(`${name} must not follow an alias`, position)
  })
}

const evaluateOutput = (source: CompiledOperand, filters: readonly CompiledFilter[], run: Run): Typed => {
  run.budget.charge(prices.output)
  let value = source(run)
  let previous = value
  for (const { apply } of filters) {
    run.budget.charge(prices.filterCall)
    previous = value
    value = apply(value, run)
  }
  return { value, type: jsonType(filters.at(-1)?.keepsInputType === true ? previous : value) }
}

type Path = readonly string[]

/**
 * Every path that an output names: its source, its arguments, and what `json`, `map` and `sort` select by literal names. A name
 * counts for every value that came before it in the chain, selected from or not: one path too many is better than a missed
 * transient field (C11).
 */
const staticPaths = (output: Output, filters: readonly CompiledFilter[]): Path[] => {
  const origins: Path[] = []
  const selected: Path[] = []
  addPath(output.source, origins)
  for (const [index, { names }] of filters.entries()) {
    for (const argument of output.filters[index]?.arguments ?? []) addPath(argument, origins)
    if (names.length > 0) for (const origin of origins) selected.push([...origin, ...names.map(String)])
  }
  return [...origins, ...selected]
}

const addPath = (operand: Operand, paths: Path[]): void => {
  if (operand.kind === 'path') paths.push([operand.root, ...operand.segments.map(String)])
}
