import type { Form } from './token-type.ts'

/** A rule as its message states it; the texts are constant, so that no value can get into one. */
export type TextRule = { readonly message: string } & (
  | { readonly pattern: string }
  | { readonly accepts: (text: string) => boolean }
)

/**
 * A string that keeps each of the rules; the first one that it breaks is named. A JSON number breaks the
 * first: it would have lost its leading zeros.
 */
export const text = (description: string, ...rules: readonly TextRule[]): Form => {
  const checks = rules.map(rule => {
    if ('accepts' in rule) return rule
    const pattern = new RegExp(rule.pattern)
    return { message: rule.message, accepts: (text: string) => pattern.test(text) }
  })
  const patterns = rules.flatMap(rule => ('pattern' in rule ? [rule.pattern] : []))
  return {
    parse: (data, place, issues) => {
      const broken = checks.find(rule => typeof data !== 'string' || !rule.accepts(data))
      if (broken === undefined) return data
      issues.push({ path: place, message: broken.message })
      return undefined
    },
    schema: { type: 'string', description, ...(patterns[0] !== undefined && { pattern: patterns[0] }) },
  }
}
