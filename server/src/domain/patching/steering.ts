import { compileExpression, type Expression } from '../expressions/expression.ts'
import type { Use } from '../expressions/run.ts'
import { isJsonObject, type Json } from '../json/json.ts'
import { maskLeaves } from '../tokens/mask.ts'
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
  const changed = changedPaths(patch)
  if (changed.length === 0) return []
  const isSteered = (text: string, use: Use): boolean => {
    const expression = compileExpression(text, use)
    return steersOutput(changed, expression) || (use !== 'mask' && steersTogether(changed, expression))
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
const steersOutput = (changed: readonly Path[], { outputs }: Expression): boolean =>
  outputs.some(
    ({ paths, isWhole }) =>
      !isWhole && paths.some(path => isTouched(path, changed)) && paths.some(path => stays(path, changed)),
  )

/**
 * In a text that is hashed, each output is hidden by the others, like a salt: a caller who sets one of them can guess
 * the rest.
 */
const steersTogether = (changed: readonly Path[], { outputs, paths }: Expression): boolean => {
  const ofData = paths.filter(([root]) => root === 'data')
  return (
    outputs.length > 1 &&
    ofData.some(path => isTouched(path, changed)) &&
    ofData.some(path => stays(path, changed))
  )
}

const isTouched = (path: Path, changed: readonly Path[]): boolean =>
  changed.some(change => {
    const parting = path.findIndex((name, index) => change[index] !== name)
    if (parting === -1 || parting === change.length) return true
    // The path reads an element of a list, and the patch has an object in its place: that replaces the whole list (RFC 7386).
    return /^-?\d+$/.test(path[parting] ?? '')
  })

/** Metadata is no secret, so only data that stays counts. */
const stays = (path: Path, changed: readonly Path[]): boolean =>
  path[0] === 'data' && !changed.some(change => startsWith(path, change))

const startsWith = (path: Path, start: Path): boolean => start.every((name, index) => path[index] === name)

/** The paths to which the patch gives a new value; everything below such a path is new, too. */
const changedPaths = ({ data, metadata }: TokenPatch): Path[] => [
  ...(data === undefined ? [] : changesOf(data, ['data'])),
  ...(metadata === undefined ? [] : metadata === null ? [['metadata']] : changesOf(metadata, ['metadata'])),
]

const changesOf = (patch: Json, at: Path): Path[] => {
  if (!isJsonObject(patch)) return [at]
  const entries = Object.entries(patch)
  // An empty object replaces anything but an object, which it leaves as it is. So the path counts as changed, but what
  // is below it may stay.
  if (entries.length === 0) return [[...at, '']]
  return entries.flatMap(([name, change]) => changesOf(change, [...at, name]))
}
