import { type Budget, budgetFor, prices, type Scope } from '../expressions/budget.ts'
import { compileExpression } from '../expressions/expression.ts'
import { ExpressionError } from '../expressions/expression-error.ts'
import { isJsonObject, type Json, type JsonObject, setOwn } from '../json/json.ts'

/**
 * The masked data, or undefined if nothing is left to show: leaves that render null are dropped. Throws ExpressionError
 * if a leaf cannot be rendered for this data. All leaves share one budget: a mask of a thousand leaves may not do a
 * thousand times the work of one.
 */
export const renderMask = (
  template: Json,
  data: Json,
  budget = budgetFor('mask', { data }),
): Json | undefined => compiledMask(template).render({ data }, budget)

type CompiledMask = { readonly render: (scope: Scope, budget: Budget) => Json | undefined }

/**
 * The masks of token types are the same object in every token of the type, so they are compiled once. Only whole masks
 * are kept: with every list and object of a mask in it, this map slowed down each collection of garbage.
 */
const compiled = new WeakMap<object, CompiledMask>()

const compiledMask = (template: Json): CompiledMask => {
  if (typeof template !== 'object' || template === null) return compileMask(template)
  const known = compiled.get(template)
  if (known !== undefined) return known
  const mask = compileMask(template)
  compiled.set(template, mask)
  return mask
}

const compileMask = (template: Json): CompiledMask => {
  if (typeof template === 'string') return compileText(template)
  if (Array.isArray(template)) return compileList(template)
  return isJsonObject(template) ? compileObject(template) : compileLiteral(template)
}

const compileText = (template: string): CompiledMask => {
  const expression = compileExpression(template, 'mask')
  return {
    render: (scope, budget) => {
      budget.charge(prices.maskLeaf)
      return expression.render(scope, undefined, budget) ?? undefined
    },
  }
}

const compileLiteral = (template: Json): CompiledMask => ({
  render: (_, budget) => {
    budget.charge(prices.maskLeaf)
    return template ?? undefined
  },
})

const compileList = (template: readonly Json[]): CompiledMask => {
  const items = template.map(compileMask)
  return {
    render: (scope, budget) => {
      budget.charge(prices.maskListOrObject)
      const masked: Json[] = []
      for (const item of items) {
        const value = item.render(scope, budget)
        if (value !== undefined) masked.push(value)
      }
      return masked
    },
  }
}

const compileObject = (template: JsonObject): CompiledMask => {
  const entries = Object.entries(template).map(([key, item]) => ({ key, item: compileMask(item) }))
  return {
    render: (scope, budget) => {
      budget.charge(prices.maskListOrObject)
      const masked: JsonObject = {}
      for (const { key, item } of entries) {
        const value = item.render(scope, budget)
        if (value !== undefined) setOwn(masked, key, value)
      }
      return masked
    },
  }
}

/** For data that the mask was not checked against: what cannot be rendered is not shown. */
export const renderMaskOrNothing = (template: Json, data: Json, budget?: Budget): Json | undefined => {
  try {
    return renderMask(template, data, budget)
  } catch (error) {
    if (error instanceof ExpressionError) return undefined
    throw error
  }
}
