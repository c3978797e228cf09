import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc } from '../rig/properties.ts'
import { jsonTexts, junk, texts } from './values.ts'

type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
}
type Operation = {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly style?: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}

const document = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../docs/openapi.json'), 'utf8'),
) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** A request as it would be sent. */
export type FuzzRequest = {
  readonly method: string
  readonly path: string
  readonly type?: string
  readonly body?: string | Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** A value that fits the schema in most places, and is anything at all in some. */
const valueFor = (schema: Schema, depth = 0): fc.Arbitrary<unknown> =>
  depth > 6
    ? junk()
    : fc.oneof({ weight: 8, arbitrary: described(schema, depth) }, { weight: 1, arbitrary: junk() })

const described = (schema: Schema, depth: number): fc.Arbitrary<unknown> => {
  if (schema.$ref !== undefined) {
    const target = document.components.schemas[schema.$ref.split('/').at(-1) ?? '']
    return target === undefined ? junk() : valueFor(target, depth + 1)
  }
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return fc.oneof(...choices.map(choice => valueFor(choice, depth + 1)))
  const [type] = [schema.type].flat()
  if (type === 'object') return objectOf(schema, depth)
  if (type === 'array') return fc.array(valueFor(schema.items ?? {}, depth + 1), { maxLength: 4 })
  if (type === 'string') return texts()
  if (type === 'integer' || type === 'number') return fc.oneof(fc.integer(), fc.constantFrom(1, 2, 100))
  if (type === 'boolean') return fc.boolean()
  return fc.oneof(junk(), valueFor({ $ref: '#/components/schemas/CreateToken' }, depth + 1))
}

const objectOf = (
  { properties = {}, additionalProperties }: Schema,
  depth: number,
): fc.Arbitrary<unknown> => {
  const known = fc.record(
    Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name, valueFor(schema, depth + 1)]),
    ),
    { requiredKeys: [] },
  )
  const values = typeof additionalProperties === 'object' ? valueFor(additionalProperties, depth + 1) : junk()
  const others = fc.oneof(
    { weight: 6, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.dictionary(texts(), values, { maxKeys: 3 }) },
  )
  return fc.tuple(known, others).map(([one, other]) => ({ ...one, ...(other as object) }))
}

const headers = (): fc.Arbitrary<Record<string, string>> => {
  const latin = texts().map(text =>
    text
      .replace(/[^\x20-\x7e\xa0-\xff]/g, '')
      .trim()
      .slice(0, 2_000),
  )
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: latin.map(text => ({ 'svc-idempotency-key': text })) },
    { weight: 1, arbitrary: latin.map(text => ({ 'svc-trace-id': text })) },
    { weight: 1, arbitrary: latin.map(text => ({ 'svc-api-key': text })) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom('gzip', 'identity', 'br, gzip', 'IDENTITY', '*')
        .map(encoding => ({ 'content-encoding': encoding })),
    },
    { weight: 1, arbitrary: fc.constantFrom('text/plain', 'x', '', 'a/b; c=d').map(accept => ({ accept })) },
  )
}

const contentTypes = (declared: string): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constant(declared) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        declared.toUpperCase(),
        `${declared}; charset=utf-16`,
        `${declared};;;`,
        'text/plain',
        'multipart/form-data; boundary=x',
        'application/json, application/json',
      ),
    },
  )

const card = { type: 'card', data: { number: '4242424242424242', expiration_month: 1, cvc: '123' } }
const text = {
  id: 'fuzz-1',
  type: 'token',
  data: { a: ['b'] },
  mask: { a: '{{ data.a }}' },
  metadata: { a: 'b' },
}

/** Bodies that are accepted: a body wrong in one place gets further than one wrong everywhere. */
const examples: Readonly<Record<string, readonly object[]>> = {
  '/tokenize': [[card, 'text', { nested: text }]],
  '/tokens': [card, text, { ...text, id: 'fuzz-2', containers: ['/a/'], deduplicate_token: true }],
  '/tokens/{id}': [
    { metadata: { a: 'c' } },
    { data: { a: null, b: 1 } },
    { mask: null, containers: ['/b/'] },
  ],
  '/tokens/search': [{ query: 'type:card AND NOT metadata.a:b' }],
  '/v2/tokens/search': [{ query: 'type:card OR metadata.a:b', size: 1 }],
  '/tenants/self': [{ name: 'Fuzzed', settings: { deduplicate_tokens: 'false' } }],
  '/applications': [{ name: 'fuzzed', type: 'private', permissions: ['token:read'] }],
  '/proxies': [
    {
      name: 'fuzzed',
      destination_url: 'https://api.example.com/v1',
      configuration: { a: 'b' },
      response_transforms: [{ type: 'mask', matcher: 'pan' }],
    },
  ],
  '/proxies/{id}': [{ name: 'fuzzed', destination_url: 'https://api.example.com/' }, { configuration: null }],
  '/webhooks': [{ name: 'fuzzed', url: 'https://hooks.example.com/', events: ['token.*'] }],
  '/webhooks/{id}': [{ name: 'fuzzed', url: 'https://hooks.example.com/', events: ['token.created'] }],
  '/webhooks/{id}/secret': [{ grace_hours: 1 }],
  '/applications/{id}/explain': [{ permission: 'token:read', containers: ['/a/'] }],
}

/** The example as it is, or with one of its members replaced. */
const nearly = (example: object, others: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof(
    fc.constant(example),
    fc
      .tuple(fc.constantFrom(...Object.keys(example)), fc.oneof(junk(), others))
      .map(([name, value]) =>
        Array.isArray(example) ? example.with(Number(name), value) : { ...example, [name]: value },
      ),
  )

const requestsTo = (path: string, method: string, operation: Operation): fc.Arbitrary<FuzzRequest> => {
  const pathText = fc
    .array(
      texts().map(text => encodeURIComponent(text.toWellFormed()).slice(0, 6_000)),
      { minLength: 2, maxLength: 2 },
    )
    .map(([id = 'x', keyId = 'y']) => path.replace('{id}', id || 'x').replace('{keyId}', keyId || 'y'))
  const names = (operation.parameters ?? [])
    .filter(one => one.in === 'query')
    .flatMap(({ name, style }) =>
      style === 'deepObject' ? [name, `${name}[a]`, `${name}.a`, `${name}[`] : [name],
    )
  const name = names.length === 0 ? texts() : fc.oneof(fc.constantFrom(...names), texts())
  const pairs = fc.array(fc.tuple(name, texts()), { maxLength: names.length === 0 ? 1 : 4 })
  const query = fc.oneof(
    // Where no parameter is known, any query is refused before anything else.
    { weight: names.length === 0 ? 15 : 1, arbitrary: fc.constant('') },
    { weight: 4, arbitrary: pairs.map(list => list.map(pair => pair.map(encoded).join('=')).join('&')) },
    { weight: 1, arbitrary: fc.constantFrom('', '&&&', '=', '%zz', 'a=%e0%a4', '?', 'page=1&page=2') },
  )
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
  const base = fc.record({ pathText, query, headers: headers() }).map(one => ({
    method: method.toUpperCase(),
    path: one.query === '' ? one.pathText : `${one.pathText}?${one.query.slice(0, 8_000)}`,
    headers: one.headers,
  }))
  if (type === undefined || content === undefined) return base
  const schema = valueFor(content.schema)
  const body = fc.oneof(schema, ...(examples[path] ?? []).map(example => nearly(example, schema)))
  return fc
    .record({ base, type: contentTypes(type), body: jsonTexts(body) })
    .map(one => ({ ...one.base, type: one.type, body: one.body }))
}

const encoded = (text: string): string => encodeURIComponent(text.toWellFormed())

/** A request to any endpoint except the one that deletes the tenant, built from the interface's own description. */
export const requests = (): fc.Arbitrary<FuzzRequest> =>
  fc.oneof(
    ...Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([method]) => !(method === 'delete' && path === '/tenants/self'))
        .map(([method, operation]) => requestsTo(path, method, operation)),
    ),
  )
