import type { Issue } from '../errors.ts'
import type { Use } from '../expressions/budget.ts'
import { compileExpression, type Expression } from '../expressions/expression.ts'
import { ExpressionError } from '../expressions/expression-error.ts'
import {
  getOwn,
  isJsonObject,
  type Json,
  type JsonObject,
  keysAsSent,
  setOwn,
  stringify,
} from '../json/json.ts'
import { limits } from '../limits.ts'
import { chosenKey, element, field } from '../place.ts'
import { countCharacters } from '../text/characters.ts'
import type { TokenType } from './types/token-type.ts'

/** A mask is any JSON; its strings are expressions (C20). Issues name the leaf and the position in it. */
export const checkMask = (template: Json, type: TokenType, place: string, issues: Issue[]): void => {
  if (!checkMaskBytes(template, place, issues)) return
  for (const { text, path } of maskLeaves(template, place)) {
    readExpression(text, 'mask', type, path, issues)
    if (issues.length > limits.errorsPerAnswer) return
  }
}

export const checkMaskBytes = (template: Json, place: string, issues: Issue[]): boolean => {
  const fits = Buffer.byteLength(stringify(template)) <= limits.maskBytes
  if (!fits) issues.push({ path: place, message: `must have at most ${limits.maskBytes} bytes` })
  return fits
}

/** The expressions of a mask, each with its place. */
export const maskLeaves = (template: Json, place: string): { text: string; path: string }[] => {
  if (typeof template === 'string') return [{ text: template, path: place }]
  if (Array.isArray(template))
    return template.flatMap((item, index) => maskLeaves(item, element(place, index)))
  return isJsonObject(template)
    ? keysAsSent(template).flatMap((key, index) =>
        maskLeaves(getOwn(template, key) ?? null, chosenKey(place, key, index + 1)),
      )
    : []
}

/** The mask with other expressions in the same places. */
export const mapMask = (template: Json, change: (text: string) => string): Json => {
  if (typeof template === 'string') return change(template)
  if (Array.isArray(template)) return template.map(item => mapMask(item, change))
  if (!isJsonObject(template)) return template
  const mapped: JsonObject = {}
  for (const [key, item] of Object.entries(template)) setOwn(mapped, key, mapMask(item, change))
  return mapped
}

/** The limits of C8 on a token's metadata; an issue names the key that it is about. */
export const checkMetadata = (metadata: JsonObject, place: string, issues: Issue[]): void => {
  if (!checkMetadataSize(metadata, place, issues)) return
  for (const [index, key] of keysAsSent(metadata).entries()) {
    const value = getOwn(metadata, key)
    if (value === null) continue
    const path = chosenKey(place, key, index + 1)
    if (key === '' || countCharacters(key) > limits.metadataKeyCharactersMax)
      issues.push({ path, message: `must have a key of 1 to ${limits.metadataKeyCharactersMax} characters` })
    if (typeof value !== 'string') issues.push({ path, message: 'must be a string' })
    else if (countCharacters(value) > limits.metadataValueCharactersMax)
      issues.push({ path, message: `must have at most ${limits.metadataValueCharactersMax} characters` })
  }
}

/** Whether there are few enough keys. In a patch, null removes one. */
export const checkMetadataSize = (metadata: JsonObject, place: string, issues: Issue[]): boolean => {
  const isSmall = Object.values(metadata).filter(value => value !== null).length <= limits.metadataKeys
  if (!isSmall) issues.push({ path: place, message: `must have at most ${limits.metadataKeys} keys` })
  return isSmall
}

/** Compiles an expression that a caller wrote; a fault becomes an issue at its place. */
export const readExpression = (
  text: string,
  use: Use,
  type: TokenType,
  place: string,
  issues: Issue[],
): Expression | undefined => {
  try {
    const expression = compileExpression(text, use)
    if (namesTransientField(expression, type)) {
      issues.push({
        path: place,
        message: 'names a short-lived field, which expressions cannot use',
      })
      return undefined
    }
    return expression
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    issues.push({ path: place, message: error.message })
    return undefined
  }
}

/** C11: expressions cannot name transient fields, at any depth, because filters may put `data` into a list. */
const namesTransientField = ({ paths }: Expression, type: TokenType): boolean =>
  paths.some(([root, ...names]) => root === 'data' && names.some(name => Object.hasOwn(type.transient, name)))

/** The checks that create and update share, before anything is rendered. */
export const checkExpressionsAndMetadata = (
  fields: {
    readonly mask?: Json | null
    readonly metadata?: Readonly<Record<string, Json>> | null
    readonly search_indexes?: readonly string[] | null
    readonly fingerprint_expression?: string | null
  },
  type: TokenType,
  place: string,
  issues: Issue[],
): void => {
  if (fields.mask !== undefined && fields.mask !== null)
    checkMask(fields.mask, type, field(place, 'mask'), issues)
  if (fields.metadata) checkMetadata(fields.metadata, field(place, 'metadata'), issues)
  fields.search_indexes?.forEach((text, index) => {
    readExpression(text, 'index', type, element(field(place, 'search_indexes'), index), issues)
  })
  if (typeof fields.fingerprint_expression === 'string')
    readExpression(
      fields.fingerprint_expression,
      'fingerprint',
      type,
      field(place, 'fingerprint_expression'),
      issues,
    )
}
