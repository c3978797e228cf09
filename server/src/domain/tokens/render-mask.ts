import type { Allowance, Budget } from '../expressions/budget.ts'
import { compileExpression } from '../expressions/expression.ts'
import { ExpressionError } from '../expressions/expression-error.ts'
import { budgetFor, type Scope } from '../expressions/run.ts'
import { isExactNumber, type Json, type JsonObject, setOwn } from '../json/json.ts'

/**
 * The masked data, or undefined if nothing is left to show: leaves that render null are dropped. Throws ExpressionError
 * if a leaf cannot be rendered for this data. All leaves share one budget: a mask of a thousand leaves may not do a
 * thousand times the work of one.
 */
export const renderMask = (template: Json, data: Json, allowance?: Allowance): Json | undefined =>
  compileMask(template)({ data }, budgetFor('mask', { data }, allowance))

type Render = (scope: Scope, budget: Budget) => Json | undefined

/** The masks of token types are the same object in every token of the type, so they are compiled once. */
const compiled = new WeakMap<object, Render>()

const compileMask = (template: Json): Render => {
  if (typeof template === 'string') {
    const expression = compileExpression(template, 'mask')
    return (scope, budget) => expression.render(scope, undefined, budget) ?? undefined
  }
  if (template === null) return () => undefined
  if (typeof template !== 'object' || isExactNumber(template)) return () => template
  let render = compiled.get(template)
  if (render === undefined) {
    render = Array.isArray(template) ? compileList(template) : compileObject(template)
    compiled.set(template, render)
  }
  return render
}

const compileList = (template: readonly Json[]): Render => {
  const items = template.map(compileMask)
  return (scope, budget) => items.map(item => item(scope, budget)).filter(item => item !== undefined)
}

const compileObject = (template: JsonObject): Render => {
  const entries = Object.entries(template).map(([key, item]) => ({ key, item: compileMask(item) }))
  return (scope, budget) => {
    const masked: JsonObject = {}
    for (const { key, item } of entries) {
      const value = item(scope, budget)
      if (value !== undefined) setOwn(masked, key, value)
    }
    return masked
  }
}

/** For data that the mask was not checked against: what cannot be rendered is not shown. */
export const renderMaskOrNothing = (template: Json, data: Json, allowance?: Allowance): Json | undefined => {
  try {
    return renderMask(template, data, allowance)
  } catch (error) {
    if (error instanceof ExpressionError) return undefined
    throw error
  }
}
