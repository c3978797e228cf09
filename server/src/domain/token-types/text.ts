import type { Parse } from './token-type.ts'

/** A rule as its message states it; the texts are constant, so that no value can get into one. */
export type TextRule = { readonly message: string; readonly accepts: (text: string) => boolean }

/**
 * A string that keeps each of the rules; the first one that it breaks is named. A JSON number breaks the
 * first: it would have lost its leading zeros.
 */
export const text =
  (...rules: readonly TextRule[]): Parse =>
  (data, place, issues) => {
    const broken = rules.find(rule => typeof data !== 'string' || !rule.accepts(data))
    if (broken === undefined) return data
    issues.push({ path: place, message: broken.message })
    return undefined
  }
