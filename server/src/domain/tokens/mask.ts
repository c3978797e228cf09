import type { Issue } from '../errors.ts'
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
import { chosenKey, element } from '../place.ts'
import { readExpression } from './expression-check.ts'
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
