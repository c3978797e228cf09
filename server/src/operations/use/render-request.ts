import type { Decision } from '../../domain/access/access.ts'
import type { Permission } from '../../domain/access/permissions.ts'
import type { Issue } from '../../domain/errors.ts'
import { Budget } from '../../domain/expressions/budget.ts'
import { type Json, type JsonObject, stringify } from '../../domain/json/json.ts'
import { limits } from '../../domain/limits.ts'
import type { BodyForm } from '../../domain/rendering/body-form.ts'
import { encodeFormPart, formPlace } from '../../domain/rendering/form-pairs.ts'
import { placesOf, withLiterals } from '../../domain/rendering/json-literals.ts'
import { editToPut } from '../../domain/rendering/json-location.ts'
import { assemble, evaluate, type ShownToken, type TokenValues } from '../../domain/rendering/render.ts'
import { isExpression, type TokenTemplate } from '../../domain/rendering/template.ts'
import { type RequestTransform, readRequestTransforms } from '../../domain/rendering/transforms.ts'
import type { Token } from '../../domain/tokens/token.ts'
import { wholeData } from '../../domain/tokens/transients.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { loadTokens } from './load-tokens.ts'
import { asFault, invalidExpression, RenderingFault } from './rendering-fault.ts'
import {
  type Change,
  type HeaderPair,
  type Placed,
  type PlacedBody,
  type PlacedHeader,
  RequestTexts,
} from './request-texts.ts'
import { shownToken } from './shown-token.ts'

/** What a request to a destination is made of, before any token is in it. */
export type AskedRequest = {
  readonly headers: readonly HeaderPair[]
  readonly body: Buffer | undefined
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
  /** The proxy's own, in the order in which they are applied. */
  readonly requestTransforms: readonly JsonObject[]
  readonly configuration: Readonly<Record<string, string>>
  /** Whether the caller may use the token, and whether GET would show it whole. Undefined: there is no such token for this caller. */
  readonly admit: (token: Token) => AdmittedUse | undefined
}

export type AdmittedUse = {
  readonly permission: Permission
  readonly decision?: Decision
  readonly isRevealed: boolean
}

/** The request as it is sent, and what it holds that an answer may have to be searched for. */
export type RenderedRequest = {
  readonly headers: readonly HeaderPair[]
  readonly body: Buffer | undefined
  readonly used: readonly UsedToken[]
  readonly insertedConfiguration: readonly string[]
}

export type UsedToken = { readonly token: Token; readonly data: Json; readonly isRevealed: boolean }

/**
 * Puts tokens into a request (U12): all expressions are read, all tokens fetched and checked, everything is rendered, and what comes
 * back can be sent as it is. The caller's own expressions may cut only tokens that the caller may read; the proxy's may cut all.
 */
export const renderRequest = async (
  vault: Vault,
  caller: Caller,
  asked: AskedRequest,
): Promise<RenderedRequest> => {
  const texts = new RequestTexts(caller)
  const transforms = transformsOf(asked.requestTransforms)
  const headers = await texts.headers(asked.headers)
  const isChanged = transforms.some(({ type }) => type === 'append_json')
  const body = await texts.body(asked, isChanged)
  const changes = await texts.transforms(transforms)
  const tokens = await useTokens(vault, caller, texts.ids, asked.admit)
  const inserted = new Set<string>()
  const rendering = new Rendering(caller, {
    proxy: { token: id => tokens.get(id)?.shown },
    transform: {
      token: id => withLeaveToCut(tokens.get(id)?.shown),
      configuration: noting(asked.configuration, inserted),
    },
  })
  const sent = await renderBody(rendering, body)
  const result = await applyTransforms(rendering, changes, {
    headers: await renderHeaders(rendering, headers),
    body: sent,
    form: body.form,
  })
  return {
    headers: result.headers,
    body: result.body === undefined ? asked.body : Buffer.from(result.body, 'utf8'),
    used: [...tokens.values()].map(({ used }) => used),
    insertedConfiguration: [...inserted],
  }
}

/** They were checked when the proxy was saved; limits may have changed since. */
const transformsOf = (transforms: readonly JsonObject[]): RequestTransform[] => {
  const issues: Issue[] = []
  const read = readRequestTransforms(transforms, 'request_transforms', issues)
  if (issues.length > 0) throw new RenderingFault('expression_invalid', issues)
  return read
}

type Used = { readonly used: UsedToken; readonly shown: ShownToken }

/** The tokens that the caller may use. Each of them is in the record of the request, whatever becomes of it. */
const useTokens = async (
  vault: Vault,
  caller: Caller,
  ids: ReadonlySet<string>,
  admit: AskedRequest['admit'],
): Promise<Map<string, Used>> => {
  const tokens = await loadTokens(vault, caller, ids)
  const now = vault.clock()
  const usable = new Map<string, Used>()
  for (const id of ids) {
    const token = tokens.get(id)
    const use = token && admit(token)
    if (token === undefined) continue
    if (use === undefined) {
      caller.act.finds(id)
      continue
    }
    const { permission, decision, isRevealed } = use
    caller.act.touches(token, permission, decision)
    const data = wholeData(token, now)
    const object = isRevealed ? shownToken(vault, token, 'reveal', now).object : () => undefined
    usable.set(id, {
      used: { token, data, isRevealed },
      shown: { data: () => data, object, mayBeCut: isRevealed },
    })
  }
  vault.activity.note(
    caller.tenantNumber,
    [...usable.values()].map(({ used }) => used.token),
    now,
  )
  return usable
}

/** Who sets up a proxy decides what it makes of tokens. */
const withLeaveToCut = (shown: ShownToken | undefined): ShownToken | undefined =>
  shown && { ...shown, mayBeCut: true }

/** The configuration, with a note of each value that is read. */
const noting = (
  configuration: Readonly<Record<string, string>>,
  inserted: Set<string>,
): Readonly<Record<string, string>> => {
  const noted: Record<string, string> = {}
  for (const [key, value] of Object.entries(configuration))
    Object.defineProperty(noted, key, {
      enumerable: true,
      get: () => {
        inserted.add(value)
        return value
      },
    })
  return noted
}

/** Evaluates expressions, each in a turn, within what one request may cost and how long it may get. */
class Rendering {
  readonly #caller: Caller
  readonly #values: Readonly<Record<'proxy' | 'transform', TokenValues>>
  readonly #budget = new Budget(limits.expressionStepsPerRequest)
  #characters = 0

  constructor(caller: Caller, values: Readonly<Record<'proxy' | 'transform', TokenValues>>) {
    this.#caller = caller
    this.#values = values
  }

  async value(template: TokenTemplate, dialect: 'proxy' | 'transform', path: () => string): Promise<Json> {
    const results: Json[] = []
    try {
      for (const part of template.parts) {
        if (!isExpression(part)) continue
        if (!this.#caller.work.hasTurn) await this.#caller.work.turn()
        results.push(evaluate(template, part, this.#values[dialect], this.#budget))
      }
      return assemble(template, results)
    } catch (error) {
      throw asFault(error, path())
    }
  }

  async text(template: TokenTemplate, dialect: 'proxy' | 'transform', path: () => string): Promise<string> {
    const value = await this.value(template, dialect, path)
    return this.bounded(typeof value === 'string' ? value : stringify(value))
  }

  /** Counts what goes into the request. */
  bounded(text: string): string {
    this.#characters += text.length
    if (this.#characters > limits.detokenizeAnswerBytes)
      throw invalidExpression('$', `the request would have more than ${limits.detokenizeAnswerBytes} bytes`)
    return text
  }
}

/** What HTTP allows in a header, apart from what nobody reads alike: visible ASCII, blanks and tabs. */
const headerText = /^[\t\x20-\x7e]*$/

const headerValue = async (
  rendering: Rendering,
  name: string,
  { template, path }: Placed,
  dialect: 'proxy' | 'transform',
): Promise<string> => {
  const value = await rendering.text(template, dialect, () => path)
  if (headerText.test(value) && value.length <= limits.proxyHeaderCharacters) return value
  throw new RenderingFault('header_value_invalid', [
    {
      path: name.toLowerCase(),
      message: `must become at most ${limits.proxyHeaderCharacters} characters of visible ASCII, blanks and tabs`,
    },
  ])
}

const renderHeaders = async (
  rendering: Rendering,
  headers: readonly PlacedHeader[],
): Promise<HeaderPair[]> => {
  const rendered: HeaderPair[] = []
  for (const { pair, template } of headers) {
    const [name] = pair
    const path = name.toLowerCase()
    rendered.push(
      template === undefined ? pair : [name, await headerValue(rendering, name, { template, path }, 'proxy')],
    )
  }
  return rendered
}

const renderBody = async (
  rendering: Rendering,
  { form, text, stretches }: PlacedBody,
): Promise<string | undefined> => {
  if (text === undefined) return undefined
  const replaced = []
  for (const { start, end, template } of stretches) {
    const place = (): string =>
      form === 'json' ? (placesOf(text, [start])[0] ?? '$') : formPlace(text, start)
    const json =
      form === 'json'
        ? rendering.bounded(stringify(await rendering.value(template, 'proxy', place)))
        : await formText(rendering, template, place)
    replaced.push({ start, end, json })
  }
  return withLiterals(text, replaced)
}

const formText = async (
  rendering: Rendering,
  template: TokenTemplate,
  place: () => string,
): Promise<string> => {
  const text = await rendering.text(template, 'proxy', place)
  try {
    return encodeFormPart(text)
  } catch (error) {
    throw asFault(error, place())
  }
}

type Changing = { headers: HeaderPair[]; body: string | undefined; readonly form: BodyForm | undefined }

/** The proxy's own changes, in order. Each sees what the one before has made. */
const applyTransforms = async (
  rendering: Rendering,
  changes: readonly Change[],
  { headers: sent, body: substituted, form }: Changing,
): Promise<Changing> => {
  let headers = sent
  let body = substituted
  for (const change of changes) {
    if (change.type === 'append_header') {
      const { name, value } = change
      const text = await headerValue(rendering, name, value, 'transform')
      // What the proxy says counts: the caller cannot put another value beside it.
      headers = [...headers.filter(([other]) => other.toLowerCase() !== name.toLowerCase()), [name, text]]
      continue
    }
    const { path, transform, text, stretches } = change
    const replaced = []
    for (const { start, end, template } of stretches) {
      const value = await rendering.value(template, 'transform', () => path)
      replaced.push({ start, end, json: rendering.bounded(stringify(value)) })
    }
    const before = body
    if (form !== 'json' || before === undefined) throw invalidExpression('$', 'the body is not JSON')
    const edit = editToPut(before, transform.location, withLiterals(text, replaced))
    if (edit === undefined) throw invalidExpression(path, 'there is no place for it in the body')
    body = withLiterals(before, [edit])
  }
  return { headers, body, form }
}
