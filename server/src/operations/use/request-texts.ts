import { isUtf8 } from 'node:buffer'
import type { Dialect } from '../../domain/expressions/budget.ts'
import { stringify } from '../../domain/json/json.ts'
import { limits } from '../../domain/limits.ts'
import { element, field } from '../../domain/place.ts'
import { type BodyForm, readableForm } from '../../domain/rendering/body-form.ts'
import { formPartsWithExpressions, formPlace } from '../../domain/rendering/form-pairs.ts'
import { literalsWithBraces, placesOf } from '../../domain/rendering/json-literals.ts'
import {
  holdsExpression,
  isExpression,
  readTemplate,
  type TemplatePart,
  type TokenTemplate,
} from '../../domain/rendering/template.ts'
import type { RequestTransform } from '../../domain/rendering/transforms.ts'
import type { Caller } from '../vault/vault.ts'
import { asFault, invalidExpression } from './rendering-fault.ts'

/** Headers in order, as they are on the wire. */
export type HeaderPair = readonly [name: string, value: string]

/** A text with the place at which its faults are told. */
export type Placed = { readonly path: string; readonly template: TokenTemplate }
export type PlacedHeader = { readonly pair: HeaderPair; readonly template: TokenTemplate | undefined }
export type PlacedStretch = {
  readonly template: TokenTemplate
  readonly start: number
  readonly end: number
}
export type PlacedBody = {
  readonly form: BodyForm | undefined
  /** Undefined if the body goes on as it came. */
  readonly text: string | undefined
  readonly stretches: readonly PlacedStretch[]
}
/** A change that the proxy makes, with its texts read. */
export type Change =
  | { readonly type: 'append_header'; readonly name: string; readonly value: Placed }
  | {
      readonly type: 'append_json'
      readonly path: string
      readonly transform: Extract<RequestTransform, { type: 'append_json' }>
      readonly text: string
      readonly stretches: readonly PlacedStretch[]
    }

/** Reads every text of a request, and counts what its expressions name. */
export class RequestTexts {
  readonly ids = new Set<string>()
  readonly #caller: Caller
  #expressions = 0

  constructor(caller: Caller) {
    this.#caller = caller
  }

  async headers(pairs: readonly HeaderPair[]): Promise<PlacedHeader[]> {
    const placed: PlacedHeader[] = []
    for (const pair of pairs) {
      const [name, value] = pair
      const template = holdsExpression(value)
        ? await this.#read(value, 'proxy', name.toLowerCase())
        : undefined
      placed.push({ pair, template })
    }
    return placed
  }

  /** Without `isChanged`, a body without expressions goes on as it came, unread. */
  async body(
    {
      body,
      contentType,
      contentEncoding,
    }: {
      readonly body: Buffer | undefined
      readonly contentType: string | undefined
      readonly contentEncoding: string | undefined
    },
    isChanged: boolean,
  ): Promise<PlacedBody> {
    if (body === undefined || body.length === 0) return { form: undefined, text: undefined, stretches: [] }
    const form = readableForm(contentType, contentEncoding)
    if (form === undefined) return { form, text: undefined, stretches: [] }
    // A body that holds no expression need not even be valid.
    if (!isChanged && !mayHoldBraces.test(body.toString('latin1')))
      return { form, text: undefined, stretches: [] }
    if (form === 'form') return { form, ...(await this.#form(body)) }
    return { form, ...(await this.#json(body)) }
  }

  async transforms(transforms: readonly RequestTransform[]): Promise<Change[]> {
    const changes: Change[] = []
    for (const [index, transform] of transforms.entries()) {
      const path = field(element('request_transforms', index), 'value')
      if (transform.type === 'append_header') {
        const { type, name, value } = transform
        changes.push({ type, name, value: { path, template: await this.#read(value, 'transform', path) } })
        continue
      }
      const text = stringify(transform.value)
      const stretches = await this.#literals(text, 'transform', () => path)
      changes.push({ type: transform.type, path, transform, text, stretches })
    }
    return changes
  }

  async #json(body: Buffer): Promise<Omit<PlacedBody, 'form'>> {
    const decoded = utf8Of(body)
    try {
      JSON.parse(decoded)
    } catch {
      throw invalidExpression('$', 'the body is not valid JSON')
    }
    const stretches = await this.#literals(decoded, 'proxy', start => placesOf(decoded, [start])[0] ?? '$')
    return { text: decoded, stretches }
  }

  async #literals(
    text: string,
    dialect: Dialect,
    placeOf: (start: number) => string,
  ): Promise<PlacedStretch[]> {
    const stretches: PlacedStretch[] = []
    for (const { start, end, decoded } of literalsWithBraces(text)) {
      if (!this.#caller.work.hasTurn) await this.#caller.work.turn()
      if (decoded === undefined) continue
      const template = await this.#read(decoded, dialect, () => placeOf(start))
      stretches.push({ start, end, template })
    }
    return stretches
  }

  async #form(body: Buffer): Promise<Omit<PlacedBody, 'form'>> {
    const text = utf8Of(body)
    const stretches: PlacedStretch[] = []
    try {
      for (const { start, end, decoded } of formPartsWithExpressions(text)) {
        const template = await this.#read(decoded, 'proxy', () => formPlace(text, start))
        stretches.push({ start, end, template })
      }
    } catch (error) {
      throw asFault(error, '$')
    }
    return { text, stretches }
  }

  async #read(text: string, dialect: Dialect, path: string | (() => string)): Promise<TokenTemplate> {
    const parts: TemplatePart[] = []
    try {
      for (const part of readTemplate(text, dialect)) {
        parts.push(part)
        if (!isExpression(part)) continue
        if (!this.#caller.work.hasTurn) await this.#caller.work.turn()
        if ('id' in part.source) this.ids.add(part.source.id)
        if (this.ids.size > limits.proxyTokens)
          throw invalidExpression('$', `must name at most ${limits.proxyTokens} tokens`)
        if (++this.#expressions > limits.detokenizeExpressions)
          throw invalidExpression('$', `must hold at most ${limits.detokenizeExpressions} expressions`)
      }
    } catch (error) {
      throw asFault(error, typeof path === 'string' ? path : path())
    }
    return { text, parts }
  }
}

/** Braces as they are, as JSON escapes them, and as forms do. */
const mayHoldBraces = /\{\{|\\u007b|%7b/i

const utf8Of = (body: Buffer): string => {
  if (!isUtf8(body)) throw invalidExpression('$', 'the body is not valid UTF-8')
  return body.toString('utf8')
}
