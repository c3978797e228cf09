import type { Use } from '../expressions/budget.ts'
import { compileExpression, type Expression } from '../expressions/expression.ts'
import { getOwn, isJsonObject, type Json } from '../json/json.ts'
import { maskLeaves } from '../tokens/field-checks.ts'
import type { RenderedPart } from '../tokens/renderings.ts'
import type { Token } from '../tokens/token.ts'
import type { TokenPatch } from './token-patch.ts'

type Path = readonly string[]

/**
 * C13: the parts whose expressions a patch steers without naming them, because it changes one thing that an expression
 * reads while another stays. `{{ data.label | default: data.ssn }}` renders the number once the label is gone, and `{{
 * data | stringify | slice: 0, 9 }}` shows whatever the patch moves to the front. The types' own expressions cannot be
 * steered: each reads one thing, or all of the data.
 */
export const steeredParts = (token: Token, patch: TokenPatch): RenderedPart[] => {
  if (patch.data === undefined && patch.metadata === undefined) return []
  const isSteered = (text: string, use: Use): boolean => {
    const expression = compileExpression(text, use)
    return steersOutput(patch, expression) || (use !== 'mask' && steersTogether(patch, expression))
  }
  const steered: RenderedPart[] = []
  if (
    token.mask.from === 'caller' &&
    maskLeaves(token.mask.template, '').some(({ text }) => isSteered(text, 'mask'))
  )
    steered.push('mask')
  if (token.searchIndexes?.some(text => isSteered(text, 'index'))) steered.push('search_indexes')
  if (token.fingerprintExpression !== undefined && isSteered(token.fingerprintExpression, 'fingerprint'))
    steered.push('fingerprint_expression')
  return steered
}

/** In a text that is shown, each output counts alone: its neighbours do not change what it shows. */
const steersOutput = (patch: TokenPatch, { outputs }: Expression): boolean =>
  outputs.some(
    ({ paths, isWhole }) =>
      !isWhole && paths.some(path => isTouched(path, patch)) && paths.some(path => stays(path, patch)),
  )

/**
 * In a text that is hashed, each output is hidden by the others, like a salt: a caller who sets one of them can guess
 * the rest.
 */
const steersTogether = (patch: TokenPatch, { outputs, paths }: Expression): boolean => {
  const ofData = paths.filter(([root]) => root === 'data')
  return (
    outputs.length > 1 &&
    ofData.some(path => isTouched(path, patch)) &&
    ofData.some(path => stays(path, patch))
  )
}

const isTouched = (path: Path, patch: TokenPatch): boolean => fateOf(path, patch) !== 'untouched'

/** Metadata is no secret, so only data that stays counts. */
const stays = (path: Path, patch: TokenPatch): boolean =>
  path[0] === 'data' && fateOf(path, patch) !== 'replaced'

/** What a patch does to the value at a path. Of one that it touches, some may stay. */
type Fate = 'untouched' | 'touched' | 'replaced'

/**
 * Follows the path into the patch, so that the work depends on the length of the path alone: a mask may have a thousand
 * paths, and a patch a hundred thousand names.
 */
const fateOf = ([root, ...names]: Path, { data, metadata }: TokenPatch): Fate => {
  let change: Json | undefined = root === 'data' ? data : metadata
  let isOfList = false
  for (const name of names) {
    if (change === undefined || !isJsonObject(change)) break
    // The path reads an element of a list, and the patch has an object in its place: that replaces the whole list
    // (RFC 7386), even if one of its names is the number of the element.
    isOfList ||= /^-?\d+$/.test(name)
    change = getOwn(change, name)
  }
  if (change === undefined) return isOfList ? 'touched' : 'untouched'
  // Even an empty object replaces anything but an object, of which it changes nothing.
  return isJsonObject(change) ? 'touched' : 'replaced'
}
