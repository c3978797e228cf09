import about from '../../package.json' with { type: 'json' }
import { limits } from '../domain/limits.ts'
import { type Endpoint, tags } from './endpoint.ts'
import { endpoints } from './endpoints.ts'
import {
  answerHeaders,
  apiKeyHeader,
  idempotencyKeyHeader,
  prefixed,
  receiptHeader,
  traceIdHeader,
} from './headers.ts'
import type { OpenApiDocument, Operation, Parameter, Reference, Schema } from './openapi-document.ts'
import { documented, namedSchemas } from './openapi-schemas.ts'
import { Problem } from './problem-schema.ts'
import { problemsOf } from './problems.ts'

/** The interface as OpenAPI 3.1, made from the declarations alone. */
export const openApi = (headerPrefix: string): OpenApiDocument => {
  const all = Object.values<Endpoint>(endpoints)
  const paths: Record<string, Record<string, Operation>> = {}
  for (const declared of all) {
    const path = declared.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [declared.method.toLowerCase()]: operation(declared, headerPrefix) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Strongroom',
      version: about.version,
      summary: 'A token vault: sensitive values in; tokens, masks and fingerprints out.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // Relative to the address of the document: the vault does not know under which names it is reached.
    servers: [{ url: '/' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: namedSchemas(all),
      parameters: {
        IdempotencyKey: headerParameter(headerPrefix, idempotencyKeyHeader),
        TraceId: headerParameter(headerPrefix, traceIdHeader),
      },
      headers: {
        TraceId: { required: true, description: traceIdHeader.description, schema: traceIdHeader.schema },
        Receipt: { description: receiptHeader.description, schema: receiptHeader.schema },
        ...answerHeaders,
      },
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: prefixed(headerPrefix, apiKeyHeader.name) },
      },
    },
    'x-limits': { ...limits },
  }
}

type RequestHeader = { readonly name: string; readonly description: string; readonly schema: Schema }

const headerParameter = (headerPrefix: string, header: RequestHeader): Parameter => ({
  name: prefixed(headerPrefix, header.name),
  in: 'header',
  description: header.description,
  schema: header.schema,
})

const operation = (declared: Endpoint, headerPrefix: string): Operation => {
  const { body, bodyType, examples, reply, status } = declared
  return {
    operationId: declared.id,
    summary: declared.summary,
    tags: [declared.tag],
    security: declared.permission === 'open' ? [] : [{ apiKey: [] }],
    ...(declared.permission !== 'open' && { 'x-permission': declared.permission }),
    parameters: [
      ...pathParameters(declared),
      ...queryParameters(declared),
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
    responses: {
      [status]: {
        description: doneTexts[status] ?? 'Done.',
        headers: {
          ...headersOf(headerPrefix, [
            ...(declared.location === undefined ? [] : ['Location']),
            ...(declared.takesIdempotencyKey ? ['Idempotent-Replayed'] : []),
          ]),
          ...(mayHaveReceipt(declared) && {
            [prefixed(headerPrefix, receiptHeader.name)]: { $ref: '#/components/headers/Receipt' },
          }),
        },
        ...(reply && {
          content: { [declared.replyType ?? 'application/json']: { schema: documented(reply) } },
        }),
      },
      ...Object.fromEntries(
        problemsOf(declared).map(({ status, codes, details, headers }) => [
          status,
          {
            description: details.map((detail, at) => `${codes[at]}: ${detail}`).join(' '),
            'x-codes': codes,
            headers: headersOf(headerPrefix, headers),
            content: { 'application/problem+json': { schema: documented(Problem) } },
          },
        ]),
      ),
    },
  }
}

/** L4: what changes something, and what may show data in the clear. */
const mayHaveReceipt = ({ changes, permission }: Endpoint): boolean =>
  changes === true || permission === 'token:read' || permission === 'token:search'

const doneTexts: Readonly<Record<number, string>> = {
  204: 'Done; the answer has no body.',
  303: 'Location leads to it.',
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
