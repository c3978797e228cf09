import type { Issue } from '../errors.ts'
import { ExpressionError } from '../expressions/expression-error.ts'
import { getOwn, isJsonObject, type Json, type JsonObject, keysAsSent, stringify } from '../json/json.ts'
import { limits } from '../limits.ts'
import { chosenKey, element, field } from '../place.ts'
import { didYouMean } from '../text/did-you-mean.ts'
import { literalsWithBraces } from './json-literals.ts'
import { type JsonLocation, readLocation } from './json-location.ts'
import { readTemplate } from './template.ts'

/** What a proxy does to each request before it is sent (U19). Its texts may be expressions of the dialect `transform`. */
export type RequestTransform =
  | { readonly type: 'append_header'; readonly name: string; readonly value: string }
  | { readonly type: 'append_json'; readonly value: Json; readonly location: JsonLocation }

/** What a proxy does to each answer before anybody sees it. `token` is the body of a create without its data. */
export type ResponseTransform =
  | { readonly type: 'tokenize'; readonly token: JsonObject; readonly location: JsonLocation }
  | { readonly type: 'mask'; readonly matcher: 'pan' }

type Reader<Transform> = {
  readonly fields: readonly string[]
  readonly read: (transform: JsonObject, place: string, issues: Issue[]) => Transform | undefined
}
type Readers<Transform extends { readonly type: string }> = {
  readonly [Type in Transform['type']]: Reader<Transform>
}

/** Reads the transforms of a proxy. Faults become issues at their place, and what has one is left out. */
export const readRequestTransforms = (
  transforms: readonly JsonObject[],
  place: string,
  issues: Issue[],
): RequestTransform[] => readAll(transforms, requestReaders, place, issues)

export const readResponseTransforms = (
  transforms: readonly JsonObject[],
  place: string,
  issues: Issue[],
): ResponseTransform[] => readAll(transforms, responseReaders, place, issues)

const readAll = <Transform extends { readonly type: string }>(
  transforms: readonly JsonObject[],
  readers: Readers<Transform>,
  place: string,
  issues: Issue[],
): Transform[] => {
  if (transforms.length > limits.proxyTransforms) {
    issues.push({ path: place, message: `must have at most ${limits.proxyTransforms} items` })
    return []
  }
  return transforms.flatMap((transform, index) => {
    const at = element(place, index)
    const reader = readerOf(transform, new Map(Object.entries<Reader<Transform>>(readers)), at, issues)
    return reader?.read(transform, at, issues) ?? []
  })
}

const readerOf = <Transform>(
  transform: JsonObject,
  readers: ReadonlyMap<string, Reader<Transform>>,
  place: string,
  issues: Issue[],
): Reader<Transform> | undefined => {
  const type = getOwn(transform, 'type') ?? null
  const reader = typeof type === 'string' ? readers.get(type) : undefined
  if (reader === undefined) {
    const known = `must be one of ${[...readers.keys()].join(', ')}`
    const why = type === 'code' ? '; the vault runs no code of its tenants' : ''
    issues.push({ path: field(place, 'type'), message: type === null ? 'is required' : known + why })
    return undefined
  }
  const fields = ['type', ...reader.fields]
  keysAsSent(transform).forEach((key, index) => {
    if (!fields.includes(key))
      issues.push({
        path: chosenKey(place, key, index + 1),
        message: `is not a field of this transform${didYouMean(key, fields)}`,
      })
  })
  const missing = reader.fields.filter(name => (getOwn(transform, name) ?? null) === null)
  for (const name of missing) issues.push({ path: field(place, name), message: 'is required' })
  return missing.length === 0 ? reader : undefined
}

/** A name of RFC 9110 that the vault does not set itself. */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const ownHeaders =
  /^(?:host|content-length|content-encoding|transfer-encoding|connection|keep-alive|proxy-.*|te|trailer|upgrade|expect|accept-encoding|via|cookie)$/i

const requestReaders: Readers<RequestTransform> = {
  append_header: {
    fields: ['name', 'value'],
    read: ({ name, value }, place, issues) => {
      const before = issues.length
      if (typeof name !== 'string' || !headerName.test(name) || ownHeaders.test(name))
        issues.push({
          path: field(place, 'name'),
          message: 'must be the name of a header that the vault does not set itself',
        })
      if (typeof value !== 'string') issues.push({ path: field(place, 'value'), message: 'must be a string' })
      else checkTexts([value], field(place, 'value'), issues)
      return issues.length > before || typeof name !== 'string' || typeof value !== 'string'
        ? undefined
        : { type: 'append_header', name, value }
    },
  },
  append_json: {
    fields: ['value', 'location'],
    read: ({ value = null, location: path }, place, issues) => {
      const before = issues.length
      const location = checkLocation(path, place, issues)
      const texts = [...literalsWithBraces(stringify(value))].flatMap(({ decoded }) => decoded ?? [])
      checkTexts(texts, field(place, 'value'), issues)
      return location === undefined || issues.length > before
        ? undefined
        : { type: 'append_json', value, location }
    },
  },
}

const responseReaders: Readers<ResponseTransform> = {
  tokenize: {
    fields: ['token', 'location'],
    read: ({ token, location: path }, place, issues) => {
      const location = checkLocation(path, place, issues)
      const at = field(place, 'token')
      if (!isJsonObject(token)) issues.push({ path: at, message: 'must be an object' })
      else if (Object.hasOwn(token, 'data'))
        issues.push({
          path: field(at, 'data'),
          message: 'must be left out: the data is what stands at the location',
        })
      else if (location !== undefined) return { type: 'tokenize', token, location }
      return undefined
    },
  },
  mask: {
    fields: ['matcher'],
    read: ({ matcher }, place, issues) => {
      if (matcher === 'pan') return { type: 'mask', matcher }
      issues.push({
        path: field(place, 'matcher'),
        message: 'must be pan; the vault runs no regular expressions of its tenants',
      })
      return undefined
    },
  },
}

const checkLocation = (path: unknown, place: string, issues: Issue[]): JsonLocation | undefined => {
  const location = typeof path === 'string' ? readLocation(path) : undefined
  if (location === undefined)
    issues.push({
      path: field(place, 'location'),
      message: 'must be a JSONPath to one value below the root, such as $.card.number',
    })
  return location
}

const checkTexts = (texts: readonly string[], path: string, issues: Issue[]): void => {
  for (const text of texts)
    try {
      for (const _part of readTemplate(text, 'transform'));
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error
      issues.push({ path, message: error.message })
    }
}
