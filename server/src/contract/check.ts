import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { Issue } from '../domain/errors.ts'
import { getOwn, isExactNumber, isJsonObject, type Json, keysAsSent } from '../domain/json/json.ts'
import { limits } from '../domain/limits.ts'
import { chosenKey, element, field } from '../domain/place.ts'
import { didYouMean } from '../domain/text/did-you-mean.ts'
import { counted } from '../domain/text/terminal.ts'
import { noExactNumberKeyword } from './schema.ts'
import type { Static, TSchema } from './type.ts'

/** The value, typed by the schema, or undefined with the reasons in `issues`. */
export type Check<T> = (value: Json, place: string, issues: Issue[]) => T | undefined

const makeAjv = (allErrors: boolean): Ajv => {
  const ajv = new Ajv({
    allErrors,
    verbose: true,
    ownProperties: true,
    strict: false,
    validateFormats: false,
    // The schemas are our own, and the meta-schema takes longer to compile than most of them: 10 ms of a first request.
    validateSchema: false,
    meta: false,
  })
  ajv.addKeyword({
    keyword: noExactNumberKeyword,
    type: 'object',
    validate: (_schema: unknown, value: unknown) => !isExactNumber(value),
  })
  return ajv
}

const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined
  return () => (made ??= make())
}
/** Shared by all schemas and made on first use. */
const quickAjv = once(() => makeAjv(false))
const thoroughAjv = once(() => makeAjv(true))

/**
 * Each schema has two validators. The quick one stops at the first fault, so a hostile body with a million faults costs
 * as much as one. Only a body up to this size is then checked for all of its faults.
 */
const thoroughBytesMax = 65_536

/** `fixed` are fields that what is changed does have, but that no change may name: their refusal says so. */
export const compileCheck = <S extends TSchema>(
  schema: S,
  fixed: readonly string[] = [],
): Check<Static<S>> => {
  let quick: ValidateFunction | undefined
  let thorough: ValidateFunction | undefined
  return (value, place, issues) => {
    quick ??= quickAjv().compile(schema)
    if (quick(value)) return value as Static<S>
    let errors = quick.errors ?? []
    if (JSON.stringify(value).length <= thoroughBytesMax) {
      thorough ??= thoroughAjv().compile(schema)
      thorough(value)
      errors = thorough.errors ?? errors
    }
    for (const error of errors.slice(0, limits.errorsPerAnswer)) {
      const { path, message } = toIssue(error, value, place, fixed)
      if (!issues.some(issue => issue.path === path && issue.message === message))
        issues.push({ path, message })
    }
    return undefined
  }
}

/** Keywords that fail for an exact number because it is kept as an object. */
const aboutObjects: readonly string[] = ['required', 'additionalProperties', noExactNumberKeyword]

const toIssue = (error: ErrorObject, value: Json, root: string, fixed: readonly string[]): Issue => {
  const { place, reached } = follow(error.instancePath, value, root)
  // A number in place of an object is one fault, whatever the object should have held. The message must not betray that
  // exact numbers are kept as objects.
  if (isExactNumber(reached) && aboutObjects.includes(error.keyword))
    return { path: place === '' ? '$' : place, message: 'must be an object' }
  switch (error.keyword) {
    case 'required':
      return { path: field(place, error.params.missingProperty), message: 'is required' }
    case 'additionalProperties': {
      const name: string = error.params.additionalProperty
      if (error.instancePath === '' && fixed.includes(name))
        return { path: field(place, name), message: 'cannot be changed' }
      const position = isJsonObject(reached) ? keysAsSent(reached).indexOf(name) + 1 : 1
      const known = Object.keys(error.parentSchema?.properties ?? {})
      return {
        path: chosenKey(place, name, position),
        message: `is not a known field${didYouMean(name, known)}`,
      }
    }
    default:
      return { path: place === '' ? '$' : place, message: message(error) }
  }
}

/** Constant texts and limits only: a message never contains what was sent. */
const message = ({ keyword, params }: ErrorObject): string => {
  switch (keyword) {
    case 'type':
      return `must be ${[params.type].flat().map(article).join(' or ')}`
    case noExactNumberKeyword:
      return 'must be an object'
    case 'minLength':
      return `must have at least ${counted(params.limit, 'character')}`
    case 'maxLength':
      return `must have at most ${counted(params.limit, 'character')}`
    case 'enum':
      return `must be one of ${[...new Set(params.allowedValues.map(String))].join(', ')}`
    case 'minimum':
      return `must be at least ${params.limit}`
    case 'maximum':
      return `must be at most ${params.limit}`
    case 'minItems':
      return `must have at least ${counted(params.limit, 'item')}`
    case 'maxItems':
      return `must have at most ${counted(params.limit, 'item')}`
    default:
      return 'is not valid'
  }
}

const article = (type: string): string =>
  type === 'null' ? 'null' : `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`

/** Turns Ajv's JSON pointer into a place, and finds the value there. */
const follow = (pointer: string, value: Json, root: string): { place: string; reached: Json | undefined } => {
  let place = root
  let reached: Json | undefined = value
  for (const segment of pointer.split('/').slice(1)) {
    const name = segment.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(reached)) {
      place = element(place, Number(name))
      reached = reached[Number(name)]
    } else if (isJsonObject(reached)) {
      place = chosenKey(place, name, keysAsSent(reached).indexOf(name) + 1)
      reached = getOwn(reached, name)
    }
  }
  return { place, reached }
}
