import type { Form } from './form.ts'

/** A rule and its message. The texts are constant, so that no value can get into one. */
export type TextRule = { readonly message: string } & (
  | { readonly pattern: string }
  | { readonly accepts: (text: string) => boolean }
)

/**
 * A string that keeps all of the rules; the issue names the first one that it breaks. A JSON number breaks the first:
 * it would have lost its leading zeros.
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
