import type { JsonObject } from '../../domain/json/json.ts'
import { limits } from '../../domain/limits.ts'
import { destinationCharactersMax } from '../../domain/outbound/destination-url.ts'
import { hiddenValue, proxyMethods } from '../../domain/proxies/proxy.ts'
import { authorship, keyOfReplay } from '../applications/schemas.ts'
import { Pagination } from '../paging.ts'
import { body, choice, flag, text, textMap } from '../schema.ts'
import { type Static, type TSchema, Type } from '../type.ts'

const transformList = (description: string) =>
  Type.Unsafe<JsonObject[]>({
    type: 'array',
    items: { type: 'object' },
    maxItems: limits.proxyTransforms,
    description,
  })

const fields = {
  name: text({
    min: 1,
    max: limits.nameCharactersMax,
    description: 'For people; it need not be unique.',
  }),
  destination_url: text({
    max: destinationCharactersMax,
    description:
      'Where requests go: https and a DNS name, without user part and fragment. What a request says behind /proxy is added to it.',
  }),
  require_auth: Type.Optional(
    flag({
      description:
        'Whether a request needs an API key besides the key of the proxy. If not, the application of the proxy is the caller. Default: true.',
    }),
  ),
  application: Type.Optional(
    Type.Object(
      { id: text({ description: 'The id of a private application.' }) },
      {
        additionalProperties: false,
        description:
          'Whose rights a request has that needs no API key; needed with require_auth false, otherwise without effect. Naming one needs application:update, too.',
      },
    ),
  ),
  configuration: Type.Optional(
    textMap({
      description: `Values for expressions of the request transforms, at most ${limits.configurationKeys}. Answers show ${hiddenValue} in place of each, which keeps it if sent back.`,
    }),
  ),
  request_transforms: Type.Optional(
    transformList(
      'Change what is sent, in order: append_header {name, value}, append_json {value, location}.',
    ),
  ),
  response_transforms: Type.Optional(
    transformList(
      'Change what comes back, in order: tokenize {token, location}, mask {matcher}. If one fails, the answer is withheld.',
    ),
  ),
  timeout: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.proxyTimeoutSecondsMax,
      description: 'How many seconds the first byte of an answer may take.',
    }),
  ),
  echo_guard: Type.Optional(
    flag({
      description:
        'Whether values that the destination sends back are masked for callers who may not read them. Default: true.',
    }),
  ),
  methods: Type.Optional(
    Type.Array(choice(proxyMethods), {
      minItems: 1,
      maxItems: proxyMethods.length,
      description: 'The methods that it takes; without them, all.',
    }),
  ),
}

export const CreateProxy = body(fields)
export type CreateProxy = Static<typeof CreateProxy>

/** Nothing is to be said of a new key. */
export const CreateProxyKey = body({})

/** Any field, or null to remove it. What comes of it is checked as a whole. */
const patchOf = (schema: TSchema, more: Readonly<Record<string, unknown>> = {}) =>
  Type.Optional(
    Type.Unsafe<unknown>({ ...schema, type: ['type' in schema ? schema.type : 'object', 'null'], ...more }),
  )

export const PatchProxy = Type.Unsafe<JsonObject>(
  body({
    ...Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, patchOf(schema)])),
    configuration: patchOf(fields.configuration, { additionalProperties: { type: ['string', 'null'] } }),
  }),
)

export const ProxyView = Type.Object({
  id: Type.String({ format: 'uuid' }),
  name: Type.String({ examples: ['Payments'] }),
  key: Type.Optional(Type.String({ description: 'Shown once, when it is made.', examples: [] })),
  destination_url: Type.String({ examples: ['https://api.payments.example/v1'] }),
  require_auth: Type.Boolean(),
  application: Type.Optional(Type.Object({ id: Type.String({ format: 'uuid' }) }, { examples: [] })),
  configuration: textMap({
    description: `Every value is ${hiddenValue}.`,
    examples: [{ api_key: hiddenValue }],
  }),
  request_transforms: Type.Array(
    Type.Unsafe<JsonObject>({
      type: 'object',
      examples: [{ type: 'append_header', name: 'Authorization', value: 'Bearer {{ config: api_key }}' }],
    }),
  ),
  response_transforms: Type.Array(
    Type.Unsafe<JsonObject>({ type: 'object', examples: [{ type: 'mask', matcher: 'pan' }] }),
  ),
  timeout: Type.Optional(Type.Integer({ examples: [20] })),
  echo_guard: Type.Boolean(),
  methods: Type.Optional(Type.Array(choice(proxyMethods), { examples: [['POST']] })),
  ...authorship,
  _extras: keyOfReplay,
})

export const ProxyPage = Type.Object({ pagination: Pagination, data: Type.Array(ProxyView) })
