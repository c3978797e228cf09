import about from '../../package.json' with { type: 'json' }
import { type CatalogueEntry, catalogue, type ErrorCode, wireCode } from '../domain/errors.ts'
import type { JsonObject } from '../domain/json/json.ts'
import { limits } from '../domain/limits.ts'
import { type Endpoint, tags } from './endpoint.ts'
import { endpoints } from './endpoints.ts'
import { exampleAnswer } from './example-answers.ts'
import {
  answerHeaders,
  apiKeyHeader,
  destinationStatusHeader,
  idempotencyKeyHeader,
  missingHeader,
  prefixed,
  proxyKeyHeader,
  proxyUrlHeader,
  receiptHeader,
  traceIdHeader,
} from './headers.ts'
import type {
  Content,
  Example,
  OpenApiDocument,
  Operation,
  Parameter,
  Reference,
  Schema,
} from './openapi-document.ts'
import { documented, namedSchemas } from './openapi-schemas.ts'
import { Problem, ProxyProblem } from './problem-schema.ts'
import { problemsOf } from './problems.ts'
import { type TSchema, Type } from './type.ts'

/** The interface as OpenAPI 3.1, made from the declarations alone. */
export const openApi = (headerPrefix: string): OpenApiDocument => {
  // Where an answer only leads elsewhere, there is nothing for a program.
  const all = Object.values<Endpoint>(endpoints).filter(({ status }) => status !== 303)
  const schemas = namedSchemas(all)
  const paths: Record<string, Record<string, Operation>> = {}
  for (const declared of all.flatMap(passedThrough)) {
    const path = declared.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = {
      ...paths[path],
      [declared.method.toLowerCase()]: operation(declared, headerPrefix, schemas),
    }
  }
  return withoutEmptyExamples({
    openapi: '3.1.0',
    info: {
      title: 'Strongroom',
      version: about.version,
      summary: 'A token vault: sensitive values in; tokens, masks and fingerprints out.',
      description: overview(headerPrefix),
      contact: { name: 'Whoever operates this vault' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // Relative to the address of the document: the vault does not know under which names it is reached.
    servers: [{ url: '/' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas,
      parameters: {
        IdempotencyKey: headerParameter(headerPrefix, idempotencyKeyHeader),
        TraceId: headerParameter(headerPrefix, traceIdHeader),
      },
      headers: {
        TraceId: { required: true, description: traceIdHeader.description, schema: traceIdHeader.schema },
        DestinationStatus: {
          description: destinationStatusHeader.description,
          schema: destinationStatusHeader.schema,
        },
        Receipt: { description: receiptHeader.description, schema: receiptHeader.schema },
        Missing: { description: missingHeader.description, schema: missingHeader.schema },
        ...answerHeaders,
      },
      examples: problemExamples(all),
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: prefixed(headerPrefix, apiKeyHeader.name) },
      },
    },
    'x-limits': { ...limits },
  })
}

/** They only said that an example of the whole goes without the field. */
const withoutEmptyExamples = (document: OpenApiDocument): OpenApiDocument =>
  JSON.parse(
    JSON.stringify(document, (key, value) =>
      key === 'examples' && Array.isArray(value) && value.length === 0 ? undefined : value,
    ),
  )
/** What takes any method and whatever follows its path, as operations that OpenAPI can say. */
const passedThrough = (declared: Endpoint): Endpoint[] => {
  if (declared.passesThrough !== true) return [declared]
  const methods = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE'] as const
  const named = (method: Endpoint['method']): string =>
    declared.id + (method === declared.method ? '' : method[0] + method.slice(1).toLowerCase())
  const suffix = {
    schema: Type.String(),
    description: "What follows is added to the destination's path as it was sent, and may have slashes.",
    example: 'charges',
  } as const
  return methods.flatMap(method => [
    { ...declared, id: named(method), method },
    {
      ...declared,
      id: `${named(method)}At`,
      method,
      path: `${declared.path}/:suffix`,
      params: { suffix },
    },
  ])
}

type RequestHeader = { readonly name: string; readonly description: string; readonly schema: Schema }

const headerParameter = (headerPrefix: string, header: RequestHeader): Parameter => ({
  name: prefixed(headerPrefix, header.name),
  in: 'header',
  description: header.description,
  schema: header.schema,
})

const operation = (
  declared: Endpoint,
  headerPrefix: string,
  schemas: Readonly<Record<string, Schema>>,
): Operation => {
  const { body, bodyType, examples, reply, status } = declared
  return {
    operationId: declared.id,
    summary: declared.summary,
    description: describe(declared, headerPrefix),
    tags: [declared.tag],
    security: declared.permission === 'open' ? [] : [{ apiKey: [] }],
    ...(declared.permission !== 'open' && { 'x-permission': declared.permission }),
    parameters: [
      ...pathParameters(declared),
      ...queryParameters(declared),
      ...(declared.passesThrough
        ? [headerParameter(headerPrefix, proxyKeyHeader), headerParameter(headerPrefix, proxyUrlHeader)]
        : []),
      ...(declared.takesIdempotencyKey ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
      { $ref: '#/components/parameters/TraceId' },
    ],
    ...(body &&
      bodyType && {
        requestBody: {
          required: declared.bodyIsOptional !== true,
          content: {
            [bodyType]: {
              schema: documented(body),
              ...(examples && {
                examples: Object.fromEntries(
                  Object.entries(examples).map(([name, value]) => [name, { value }]),
                ),
              }),
            },
          },
        },
      }),
    ...(declared.passesThrough && {
      // Anything passes. Generators drop an operation whose types of content they do not know, such as */*.
      requestBody: {
        required: false,
        description: 'Of any type. Expressions are looked for in JSON and forms; all else passes unchanged.',
        content: {
          'application/json': { schema: {} },
          'application/octet-stream': { schema: { type: 'string', format: 'binary' } },
        },
      },
    }),
    responses: {
      [status]: {
        description: declared.passesThrough
          ? 'What the destination answered, with its status, whatever that is.'
          : (doneTexts[status] ?? 'Done.'),
        headers: {
          ...headersOf(headerPrefix, [
            ...(declared.location === undefined ? [] : ['Location']),
            ...(declared.takesIdempotencyKey ? ['Idempotent-Replayed'] : []),
          ]),
          ...(declared.passesThrough && {
            [prefixed(headerPrefix, destinationStatusHeader.name)]: {
              $ref: '#/components/headers/DestinationStatus',
            },
          }),
          ...(mayHaveReceipt(declared) && {
            [prefixed(headerPrefix, receiptHeader.name)]: { $ref: '#/components/headers/Receipt' },
          }),
          ...(declared.countsMissing && {
            [prefixed(headerPrefix, missingHeader.name)]: { $ref: '#/components/headers/Missing' },
          }),
        },
        ...(reply && {
          content: {
            [declared.replyType ?? 'application/json']: answerContent(declared, reply, schemas),
            ...Object.fromEntries((declared.furtherReplyTypes ?? []).map(type => [type, { schema: {} }])),
          },
        }),
      },
      ...Object.fromEntries(
        problemsOf(declared).map(({ status, codes, details, headers }) => [
          status,
          {
            description: details.map((detail, at) => `${codes[at]}: ${detail}`).join(' '),
            'x-codes': codes,
            headers: headersOf(headerPrefix, headers),
            content: {
              'application/problem+json': {
                schema: documented(Problem),
                examples: Object.fromEntries(
                  codes.map(code => [code, { $ref: `#/components/examples/${code}` }]),
                ),
              },
              ...(declared.passesThrough && {
                'application/json': {
                  schema: documented(ProxyProblem),
                  examples: Object.fromEntries(
                    // One is enough: all have this form.
                    codes.slice(0, 1).map(code => [code, { value: { proxy_error: problemExample(code) } }]),
                  ),
                },
              }),
            },
          },
        ]),
      ),
    },
  }
}

const answerContent = (
  { replyType, replyExample }: Endpoint,
  reply: TSchema,
  schemas: Readonly<Record<string, Schema>>,
): Content[string] => {
  const schema = documented(reply)
  if (replyType !== undefined && replyExample === undefined) return { schema }
  return { schema, examples: { answer: { value: replyExample ?? exampleAnswer(schema, schemas) } } }
}

/** What follows from the declaration, in sentences. */
const describe = (declared: Endpoint, headerPrefix: string): string => {
  const { permission, path, bodyType, isPage, changes, takesIdempotencyKey, description } = declared
  const idempotencyKey = prefixed(headerPrefix, idempotencyKeyHeader.name)
  return [
    ...(description === undefined ? [] : [description]),
    permission === 'open'
      ? 'Needs no key.'
      : permission === 'any key'
        ? 'Needs a key, whatever its permissions.'
        : `Needs a key of an application with the permission ${permission}.`,
    ...(bodyType === 'application/merge-patch+json'
      ? ['The body is a merge patch (RFC 7386): what is absent stays as it is, and null removes.']
      : []),
    ...(takesIdempotencyKey
      ? [
          `A retry with the same ${idempotencyKey} within 24 hours gets the first answer, and nothing is done twice.`,
        ]
      : changes === true && path.includes(':')
        ? ['A retry of what was done is answered with 404.']
        : []),
    ...(isPage === true ? ['Few such requests of a key are worked on at a time.'] : []),
  ].join(' ')
}

const overview = (headerPrefix: string): string =>
  [
    `Every request but those of the group Service carries an API key in ${prefixed(headerPrefix, apiKeyHeader.name)}.`,
    'An error is a Problem (RFC 9457): programs branch on its code.',
    'A JSON number that doubles cannot hold comes back as it was sent.',
    'Absent values are left out of answers; there is no null outside of data and mask.',
  ].join(' ')

/** By code. The texts are those of the catalogue, which an answer may replace by one that says more. */
const problemExamples = (all: readonly Endpoint[]): Record<string, Example> => {
  const declared = new Set(all.flatMap(problemsOf).flatMap(({ codes }) => codes))
  return Object.fromEntries([...declared].map(code => [code, { value: problemExample(code) }]))
}

const problemExample = (code: string): JsonObject => {
  const key = (Object.keys(catalogue) as ErrorCode[]).find(key => wireCode(key) === code) ?? 'internal'
  const { status, title, detail }: CatalogueEntry = catalogue[key]
  const errors = { 'data.number': ['must have a correct check digit'] }
  const problem = { type: 'about:blank', title, status, code, detail, trace_id: traceIdExample }
  return { ...problem, ...(key === 'invalidRequest' && { errors }) }
}

const traceIdExample = '01a1f4f2-ca77-7678-854e-907200000001'

/** L4: what changes something, and what may show data in the clear. */
const mayHaveReceipt = ({ changes, passesThrough, permission }: Endpoint): boolean =>
  changes === true || passesThrough === true || permission === 'token:read' || permission === 'token:search'

const doneTexts: Readonly<Record<number, string>> = {
  204: 'Done; the answer has no body.',
}

const headersOf = (headerPrefix: string, more: readonly string[]): Record<string, Reference> => ({
  [prefixed(headerPrefix, traceIdHeader.name)]: { $ref: '#/components/headers/TraceId' },
  ...Object.fromEntries(more.map(name => [name, { $ref: `#/components/headers/${name}` }])),
})

const pathParameters = ({ params = {} }: Endpoint): Parameter[] =>
  Object.entries(params).map(([name, { schema, description, example }]) => ({
    name,
    in: 'path',
    required: true,
    description,
    schema: documented(schema),
    example,
  }))

const queryParameters = ({ query = [] }: Endpoint): Parameter[] =>
  query.map(({ name, schema, description, repeatable, style, example }) => ({
    name,
    in: 'query',
    description,
    schema:
      repeatable === true
        ? { type: 'array', items: documented(schema), maxItems: limits.filterValuesMax }
        : documented(schema),
    ...(repeatable === true && { style: 'form', explode: true }),
    ...(style !== undefined && { style, explode: true }),
    ...(example !== undefined && { example }),
  }))
