import { endpoints } from '../../contract/endpoints.ts'
import { type Issue, VaultError } from '../../domain/errors.ts'
import {
  getOwn,
  isJsonObject,
  type Json,
  type JsonObject,
  setOwn,
  stringify,
} from '../../domain/json/json.ts'
import { parseJson } from '../../domain/json/parse-json.ts'
import { describeError } from '../../domain/log.ts'
import { bodyFormOf, isUtf8Type } from '../../domain/rendering/body-form.ts'
import { hasTwinKeys } from '../../domain/rendering/json-literals.ts'
import type { JsonLocation } from '../../domain/rendering/json-location.ts'
import { maskNumbers, maskNumbersIn } from '../../domain/rendering/pan-mask.ts'
import { type ResponseTransform, readResponseTransforms } from '../../domain/rendering/transforms.ts'
import { RequestCosts } from '../../domain/tokens/request-costs.ts'
import { readDefinition, type TokenDefinition } from '../../domain/tokens/token-definition.ts'
import { GoneError } from '../../scheduling/scheduler.ts'
import { type CreatedToken, createTokens } from '../tokens/create-tokens.ts'
import type { Caller, Vault } from '../vault/vault.ts'

/** An answer that could not be changed as its proxy says: nobody may see it (U19). */
export class ResponseTransformFault extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ResponseTransformFault'
  }
}

type AnswerBody = { readonly contentType: string | undefined; readonly body: Buffer }

/**
 * What a proxy makes of an answer before anybody sees it, in order. New tokens are made with the rights of the caller, all in one
 * commit. Whatever goes wrong, the answer is withheld.
 */
export const applyResponseTransforms = async (
  vault: Vault,
  caller: Caller,
  transforms: readonly JsonObject[],
  answer: AnswerBody,
): Promise<Buffer> => {
  // A HEAD, a 204 or a 304 has nothing to hide.
  if (answer.body.length === 0) return answer.body
  try {
    const issues: Issue[] = []
    const read = readResponseTransforms(transforms, 'response_transforms', issues)
    if (issues.length > 0) throw new ResponseTransformFault('a transform is no longer valid')
    return await apply(vault, caller, read, answer)
  } catch (error) {
    if (error instanceof ResponseTransformFault || error instanceof GoneError) throw error
    // What the definition of a token refuses is the destination's doing, or that of who set up the proxy.
    if (!(error instanceof VaultError))
      vault.log.error(describeError(error), 'an answer could not be transformed')
    throw new ResponseTransformFault('the answer does not fit the transforms')
  }
}

const apply = async (
  vault: Vault,
  caller: Caller,
  transforms: readonly ResponseTransform[],
  { contentType, body }: AnswerBody,
): Promise<Buffer> => {
  const tokenizes = transforms.some(({ type }) => type === 'tokenize')
  const json = readJson(contentType, body)
  if (json === undefined) {
    if (tokenizes) throw new ResponseTransformFault('the answer is no JSON that can be tokenized')
    return Buffer.from(maskNumbers(body.toString('latin1')), 'latin1')
  }
  const root: JsonObject = { answer: json }
  const taken: { readonly location: JsonLocation; readonly definition: TokenDefinition }[] = []
  let isMasked = false
  for (const transform of transforms) {
    if (!caller.work.hasTurn) await caller.work.turn()
    if (transform.type === 'mask') {
      if (!isMasked) setOwn(root, 'answer', await maskAll(root.answer ?? null, caller))
      isMasked = true
      continue
    }
    const location = ['answer', ...transform.location]
    const place = placeAt(root, location)
    if (place === undefined) continue
    taken.push({ location, definition: define(vault, transform.token, place.value) })
    // Until it has its id, nothing else may take it for data.
    put(place, null)
  }
  const ids = taken.length === 0 ? [] : await makeTokens(vault, caller, taken)
  for (const [index, { location }] of taken.entries()) {
    const place = placeAt(root, location)
    if (place === undefined) throw new ResponseTransformFault('a place was lost')
    put(place, ids[index] ?? null)
  }
  return Buffer.from(stringify(root.answer ?? null))
}

const maskAll = async (answer: Json, { work }: Caller): Promise<Json> => {
  const masking = maskNumbersIn(answer)
  let step = masking.next()
  while (step.done !== true) {
    if (!work.hasTurn) await work.turn()
    step = masking.next()
  }
  return step.value
}

/** All of them or none, and their record with them. */
const makeTokens = (
  vault: Vault,
  caller: Caller,
  taken: readonly { readonly definition: TokenDefinition }[],
): Promise<string[]> =>
  createTokens(
    vault,
    caller,
    taken.map(({ definition }) => definition),
    { show: ({ token }: CreatedToken): string => token.id, answer: (ids: readonly string[]) => [...ids] },
  )

/** Undefined if it is no JSON, or none that has only one meaning. */
const readJson = (contentType: string | undefined, body: Buffer): Json | undefined => {
  if (bodyFormOf(contentType) !== 'json' || !isUtf8Type(contentType)) return undefined
  try {
    const json = parseJson(body)
    return hasTwinKeys(body.toString('utf8'), json) ? undefined : json
  } catch {
    return undefined
  }
}

type Place = { readonly holder: Json; readonly last: string | number; readonly value: Json }

/** What stands at a location, and in what. Undefined where the location leads nowhere. */
const placeAt = (root: JsonObject, location: JsonLocation): Place | undefined => {
  let holder: Json = root
  for (const segment of location.slice(0, -1)) {
    const next: Json | undefined = memberOf(holder, segment)
    if (next === undefined) return undefined
    holder = next
  }
  const last = location.at(-1)
  const value = last === undefined ? undefined : memberOf(holder, last)
  return last === undefined || value === undefined ? undefined : { holder, last, value }
}

const put = ({ holder, last }: Place, value: Json): void => {
  if (Array.isArray(holder)) holder.splice(Number(last), 1, value)
  else if (isJsonObject(holder)) setOwn(holder, String(last), value)
}

const memberOf = (value: Json, segment: string | number): Json | undefined => {
  if (Array.isArray(value)) return typeof segment === 'number' ? value.at(segment) : undefined
  return isJsonObject(value) ? getOwn(value, String(segment)) : undefined
}

const define = ({ clock }: Vault, token: JsonObject, value: Json): TokenDefinition => {
  const issues: Issue[] = []
  const body = endpoints.createToken.checkBody({ ...token, data: value }, '', issues)
  const definition = body && readDefinition(body, '', clock(), issues, new RequestCosts(value))
  if (definition === undefined) throw new ResponseTransformFault('the answer makes no token')
  return definition
}
