import type { Issue } from '../../errors.ts'
import { getOwn, isJsonObject, type Json, type JsonObject, keysAsSent, setOwn } from '../../json/json.ts'
import { limits } from '../../limits.ts'
import { chosenKey, field } from '../../place.ts'
import { didYouMean } from '../../text/did-you-mean.ts'
import type { Form } from './form.ts'

export type Field = Form & { readonly required: boolean }

/**
 * An object with these fields and no others (C10): a misspelt `cvv` must not be kept for ever. A null is data (C5), not
 * an absent field, so it breaks the field's rule.
 */
export const fields = (known: Readonly<Record<string, Field>>): Form => {
  const names = Object.keys(known)
  const rules = Object.entries(known)
  const parse: Form['parse'] = (data, place, issues, sent = data) => {
    if (!isJsonObject(data)) {
      issues.push({ path: place, message: `must be an object with ${names.join(', ')}` })
      return undefined
    }
    const unknownKeys = reportUnknownKeys(data, sent, names, place, issues)
    const parsed: JsonObject = {}
    let complete = true
    for (const [name, { required, parse }] of rules) {
      const value = getOwn(data, name)
      if (value !== undefined) {
        const result = parse(value, field(place, name), issues)
        if (result === undefined) complete = false
        else setOwn(parsed, name, result)
      } else if (required) {
        complete = false
        issues.push({ path: field(place, name), message: 'is required' })
      }
    }
    return complete && unknownKeys === 0 ? parsed : undefined
  }
  const schema = {
    type: 'object',
    required: names.filter(name => known[name]?.required),
    properties: Object.fromEntries(rules.map(([name, field]) => [name, field.schema])),
    additionalProperties: false,
  }
  return { parse, schema }
}

const reportUnknownKeys = (
  data: JsonObject,
  sent: Json,
  names: readonly string[],
  place: string,
  issues: Issue[],
): number => {
  let unknownKeys = 0
  for (const [index, key] of keysAsSent(isJsonObject(sent) ? sent : data).entries()) {
    if (names.includes(key) || !Object.hasOwn(data, key)) continue
    unknownKeys++
    // An object with a hundred thousand unknown keys is refused without naming all of them.
    if (unknownKeys > limits.errorsPerAnswer) break
    issues.push({
      path: chosenKey(place, key, index + 1),
      message: `is not a property of this type${didYouMean(key, names)}`,
    })
  }
  return unknownKeys
}

/** The text at a field of parsed data; undefined if there is none. */
export const textField = (data: Json, name: string): string | undefined => {
  const value = isJsonObject(data) ? getOwn(data, name) : undefined
  return typeof value === 'string' ? value : undefined
}
