import { readJsonPath } from '../expressions/filters/json-path.ts'
import type { Segment } from '../expressions/syntax.ts'
import { limits } from '../limits.ts'
import { countCharacters } from '../text/characters.ts'
import { closingQuote, skipSpace } from './json-literals.ts'

/** A place inside a JSON text, by names and positions. */
export type JsonLocation = readonly Segment[]

/** Undefined if the text is no JSONPath to one place below the root. */
export const readLocation = (text: string): JsonLocation | undefined => {
  if (countCharacters(text) > limits.expressionCharactersMax) return undefined
  try {
    const segments = readJsonPath(text)
    return segments.length > 0 ? segments : undefined
  } catch {
    return undefined
  }
}

/** What to do to a JSON text: replace a stretch of it, which may be empty. */
export type TextEdit = { readonly start: number; readonly end: number; readonly json: string }

/**
 * How a value gets into a JSON text at the location: in place of the one that is there, as a new member of an object, or behind the end
 * of a list. Undefined if there is nothing to put it into. Every other character stays.
 */
export const editToPut = (text: string, location: JsonLocation, json: string): TextEdit | undefined => {
  let start = skipSpace(text, 0)
  for (const [depth, segment] of location.entries()) {
    const isLast = depth === location.length - 1
    const found =
      text[start] === '{' ? memberOf(text, start, String(segment)) : elementOf(text, start, segment)
    if (found === undefined) return undefined
    if ('end' in found) {
      if (isLast) return { ...found, json }
      start = found.start
    } else if (isLast) {
      const comma = found.isFirst ? '' : ','
      const key = text[start] === '{' ? `${JSON.stringify(String(segment))}:` : ''
      return { start: found.insertAt, end: found.insertAt, json: comma + key + json }
    } else return undefined
  }
  return undefined
}

type Place =
  | { readonly start: number; readonly end: number }
  | { readonly insertAt: number; readonly isFirst: boolean }

/** The member of that name. Where a name comes twice, the last one counts, as in every parser. */
const memberOf = (text: string, object: number, name: string): Place => {
  let found: Place | undefined
  let at = skipSpace(text, object + 1)
  const isFirst = text[at] === '}'
  while (text[at] !== '}') {
    const keyEnd = closingQuote(text, at) + 1
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const end = endOfValue(text, start)
    if (JSON.parse(text.slice(at, keyEnd)) === name) found = { start, end }
    at = skipSpace(text, end)
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  return found ?? { insertAt: at, isFirst }
}

const elementOf = (text: string, list: number, segment: Segment): Place | undefined => {
  if (text[list] !== '[' || typeof segment !== 'number') return undefined
  const elements: { start: number; end: number }[] = []
  let at = skipSpace(text, list + 1)
  while (text[at] !== ']') {
    const end = endOfValue(text, at)
    elements.push({ start: at, end })
    at = skipSpace(text, end)
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  return (
    elements.at(segment) ??
    (segment === elements.length ? { insertAt: at, isFirst: elements.length === 0 } : undefined)
  )
}

/** The text is valid JSON, so brackets that are closed are those that were opened. */
const endOfValue = (text: string, start: number): number => {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const character = text[at]
    if (character === '"') at = closingQuote(text, at)
    else if (character === '{' || character === '[') depth++
    else if (character === '}' || character === ']') depth--
    else if (depth > 0 || !endsScalar(text[at + 1])) continue
    if (depth <= 0) return depth < 0 ? at : at + 1
  }
  return text.length
}

const endsScalar = (next: string | undefined): boolean => next === undefined || /[\s,\]}]/.test(next)
