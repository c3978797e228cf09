import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Ajv } from 'ajv'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { endpoints } from '../../src/contract/endpoints.ts'
import { type ExampleRequest, exampleRequests } from '../../src/contract/example-requests.ts'
import { openApi } from '../../src/contract/openapi.ts'
import type { OpenApiDocument, Schema } from '../../src/contract/openapi-document.ts'
import { applicationId, keyId } from '../../src/contract/path-parameters.ts'
import { limits } from '../../src/domain/limits.ts'
import { tokenTypes } from '../../src/domain/tokens/types/registry.ts'
import { granted, type TestReply } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { onOneEngine, onSqliteAlone } from '../rig/every-engine.ts'
import type { TestVault } from '../rig/test-vault.ts'

const document = openApi('svc')
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    path,
    operation,
    status: Number(Object.keys(operation.responses)[0]),
    examples: exampleRequests(path, method, operation),
  })),
)
const schemaNamed = (schema: Schema | undefined): Schema | undefined =>
  schema?.$ref === undefined ? schema : document.components.schemas[schema.$ref.split('/').at(-1) ?? '']

const acceptsNull = ({ type, enum: values, anyOf = [], $ref }: Schema): boolean =>
  $ref === undefined &&
  (type === undefined || [type].flat().includes('null')) &&
  (values === undefined || values.includes(null)) &&
  (anyOf.length === 0 || anyOf.some(acceptsNull))

/** Sends the example to a tenant that has what the examples refer to: a token, an application and one of its keys. */
const sendExample = async (
  vault: TestVault,
  { method, path, type, body }: ExampleRequest,
  id: string,
): Promise<TestReply> => {
  const { keys } = await vault.tenant(ownerAndManager)
  const isAboutTokens = document.tags[0]?.name === tagOf(id)
  if (id !== 'createToken') granted(await vault.post('/tokens', keys.owner, firstBody('createToken')))
  const application = granted(await vault.post('/applications', keys.manager, firstBody('createApplication')))
  const key = granted(await vault.post(`/applications/${application.id}/keys`, keys.manager, {}))
  return vault.send(
    method,
    path.replace(applicationId.example, application.id).replace(keyId.example, key.id),
    {
      key: isAboutTokens ? keys.owner : keys.manager,
      ...(type !== undefined && { type, body }),
    },
  )
}
const operationOf = (id: string) => operations.find(({ operation }) => operation.operationId === id)
const tagOf = (id: string): string | undefined => operationOf(id)?.operation.tags[0]
const firstBody = (id: string): unknown => operationOf(id)?.examples[0]?.body

onOneEngine('examples in the documentation', 'the examples are of the interface', vault => {
  for (const { operation, examples, status } of operations)
    for (const [at, example] of examples.entries())
      test(`example ${at + 1} of ${operation.operationId} works (C36.3)`, async () => {
        const reply = await sendExample(vault(), example, operation.operationId)
        assert.equal(reply.status, status, reply.text)
        // A filter that finds nothing would not be an example.
        if (reply.body?.pagination !== undefined) assert.ok(reply.body.data.length > 0)
        if (status === 201 && operation.operationId !== 'createApiKey')
          assert.ok(reply.headers.get('location')?.endsWith(`/${reply.body.id}`))
      })

  for (const { operation, examples, status } of operations) {
    const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
    const { properties = {}, required = [] } = schemaNamed(content?.schema) ?? {}
    const optional = Object.entries(properties).filter(([name]) => !required.includes(name))
    const [example] = examples
    if (type !== 'application/json' || optional.length === 0 || example === undefined) continue
    test(`the fields that ${operation.operationId} accepts as null are documented, and null counts as absent (C5.3, C36.3)`, async () => {
      for (const [name, field] of optional) assert.ok(acceptsNull(field), name)
      // Without a type, an explanation needs containers.
      const kept = [...required, ...(operation.operationId === 'explainAccess' ? ['containers'] : [])]
      const body = Object.fromEntries(
        Object.entries(example.body ?? {}).filter(([name]) => kept.includes(name)),
      )
      const nulls = Object.fromEntries(optional.map(([name]) => [name, null]))
      const replies = await Promise.all(
        [body, { ...nulls, ...body }].map(body =>
          sendExample(vault(), { ...example, body }, operation.operationId),
        ),
      )
      for (const reply of replies) assert.equal(reply.status, status, reply.text)
      assert.deepEqual(Object.keys(replies[0]?.body), Object.keys(replies[1]?.body))
    })
  }
})

const reason = 'generated from declarations'

onSqliteAlone('the OpenAPI document', reason, vault => {
  let body: OpenApiDocument
  before(async () => {
    body = (await vault().send('GET', '/openapi.json')).body
  })

  test('it has every endpoint and the limits (C36.3, C8.1)', () => {
    assert.match(body.openapi, /^3\.1\./)
    for (const { id, method, path } of Object.values<Endpoint>(endpoints)) {
      const declared = body.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
      assert.equal(declared?.operationId, id)
    }
    assert.deepEqual(body['x-limits'], { ...limits })
    assert.deepEqual(body, document)
  })

  test('every schema in it is valid JSON Schema, as are those that check bodies (C36.3)', () => {
    const ajv = new Ajv({ strict: false })
    const bodies = Object.values<Endpoint>(endpoints).flatMap(({ body }) => body ?? [])
    for (const schema of [...Object.values(document.components.schemas), ...bodies])
      assert.ok(ajv.validateSchema(schema as object), JSON.stringify({ schema, faults: ajv.errors }))
  })

  test('every field that a request may have, and every field of a problem, is described in a sentence (C36.3)', () => {
    const sentence = /^\S.*\.$/
    const undescribed = (name: string, schema: Schema | undefined): string[] =>
      Object.entries(schemaNamed(schema)?.properties ?? {}).flatMap(([key, field]) => [
        ...(field.properties || sentence.test(field.description ?? '') ? [] : [`${name}.${key}`]),
        ...undescribed(`${name}.${key}`, field),
        ...undescribed(`${name}.${key}[]`, field.items),
      ])
    for (const { operation } of operations) {
      for (const { schema } of Object.values(operation.requestBody?.content ?? {}))
        assert.deepEqual(undescribed(operation.operationId, schema), [])
      for (const parameter of operation.parameters)
        if ('in' in parameter) assert.match(parameter.description, sentence)
    }
    assert.deepEqual(undescribed('Problem', document.components.schemas.Problem), [])
  })

  test('everything it refers to is in it (C36.3)', () => {
    const references = [...JSON.stringify(body).matchAll(/"\$ref":"#\/components\/(\w+)\/([\w-]+)"/g)]
    assert.ok(references.length > 100)
    const components: Record<string, Record<string, unknown>> = body.components
    for (const [, kind = '', name = ''] of references) assert.ok(components[kind]?.[name], `${kind} ${name}`)
  })

  test('it tells generated clients where to send requests and names every shape (C36.3)', () => {
    assert.deepEqual(body.servers, [{ url: '/' }])
    for (const { path, operation } of operations) {
      assert.ok(
        body.tags.some(({ name }) => name === operation.tags[0]),
        path,
      )
      const contents = [operation.requestBody, ...Object.values(operation.responses)].flatMap(part =>
        Object.values(part?.content ?? {}),
      )
      if (operation.tags[0] === 'Service') continue
      for (const { schema } of contents)
        assert.equal((schema.items ?? schema).properties, undefined, `${path} has a shape without a name`)
      const named = path.match(/(?<=\{)\w+(?=\})/g) ?? []
      const declared = operation.parameters.filter(one => 'in' in one && one.in === 'path')
      assert.deepEqual(
        declared.map(one => 'name' in one && one.name),
        named,
      )
    }
  })

  test('metadata is a map whose members are parameters (§4.3.8, C24.6, C36.3)', () => {
    for (const path of ['/tokens', '/v2/tokens']) {
      const names = body.paths[path]?.get?.parameters.flatMap(one => ('in' in one ? [one] : [])) ?? []
      const metadata = names.filter(({ name }) => name.startsWith('metadata'))
      assert.equal(metadata.length, 1)
      const [{ name, style, explode, schema } = assert.fail()] = metadata
      assert.deepEqual([name, style, explode], ['metadata', 'deepObject', true])
      assert.deepEqual(schema, { type: 'object', additionalProperties: { type: 'string' } })
    }
  })

  test('the token types are those of the registry, and card data lists its fields (C9, C36.3)', () => {
    const { CreateToken, CardData } = body.components.schemas
    assert.deepEqual(CreateToken?.properties?.type?.enum, [...tokenTypes.keys()])
    assert.deepEqual(CardData?.required, ['number'])
    assert.deepEqual(Object.keys(CardData?.properties ?? {}), [
      'number',
      'expiration_month',
      'expiration_year',
      'cvc',
    ])
  })

  test('the headers of answers are documented (C1.1, C2.22, C2.23, C4.1, C4.4, C36.3)', () => {
    const headersOf = (id: string, status: number): string[] =>
      Object.keys(operationOf(id)?.operation.responses[status]?.headers ?? {})
    assert.deepEqual(headersOf('createToken', 201), [
      'SVC-TRACE-ID',
      'Location',
      'Idempotent-Replayed',
      'SVC-AUDIT',
    ])
    assert.deepEqual(headersOf('createToken', 429), ['SVC-TRACE-ID', 'Retry-After'])
    assert.deepEqual(headersOf('createToken', 503), ['SVC-TRACE-ID', 'Retry-After'])
    assert.deepEqual(headersOf('createToken', 409), ['SVC-TRACE-ID', 'Retry-After'])
    assert.deepEqual(headersOf('createToken', 401), ['SVC-TRACE-ID', 'WWW-Authenticate'])
    assert.deepEqual(headersOf('getToken', 200), ['SVC-TRACE-ID', 'SVC-AUDIT'])
    assert.deepEqual(headersOf('getTenant', 200), ['SVC-TRACE-ID'])
    assert.deepEqual(headersOf('deleteToken', 409), ['SVC-TRACE-ID', 'Retry-After'])
    assert.deepEqual(headersOf('deleteToken', 404), ['SVC-TRACE-ID'])
  })
})

onSqliteAlone('the documentation page', reason, vault => {
  let text: string
  let headers: Headers
  before(async () => {
    const reply = await vault().send('GET', '/docs')
    text = reply.text
    headers = reply.headers
  })
  /** From one heading to the next. */
  const part = (id: string): string => text.split(`id="${id}"`)[1]?.split(/<h[23]|<section/)[0] ?? ''
  const endpointPart = (id: string): string => text.split(`id="${id}"`)[1]?.split('</section>')[0] ?? ''

  test('it loads no other resource (C36.3)', () => {
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/)
    assert.doesNotMatch(text, /<script|<img|<link|src=|@import|url\(/)
  })

  test('it has every endpoint, with a request to paste, its headers and its answers (C36.3, C2)', () => {
    for (const { path, operation, examples } of operations) {
      const shown = endpointPart(operation.operationId)
      assert.ok(shown.includes(path), path)
      assert.ok(shown.includes(`&quot;$VAULT${examples[0]?.path}&quot;`), path)
      assert.equal(shown.includes('SVC-API-KEY'), operation.security.length > 0, path)
      for (const status of Object.keys(operation.responses)) assert.ok(shown.includes(`<td>${status}</td>`))
      const takesKey = operation.parameters.some(one => '$ref' in one && one.$ref.endsWith('IdempotencyKey'))
      assert.equal(shown.includes('SVC-IDEMPOTENCY-KEY'), takesKey, path)
    }
  })

  test('a body of any shape is shown by an example (§4.1.5, C36.3)', () => {
    assert.match(endpointPart('tokenize'), /-d '\{[^']*&quot;type&quot;: &quot;token&quot;[^']*\}'/)
  })

  test('required fields are marked, others are not (§4.2.3, §4.2.4, C36.3)', () => {
    const marked = [...endpointPart('createToken').matchAll(/<code>(\w+)<\/code> <small>required/g)]
    assert.deepEqual(
      marked.map(([, name]) => name),
      ['type', 'data'],
    )
  })

  test('text that carries a boolean is told from a boolean (§2.4.9, C31.3, C36.3)', () => {
    const form = ['"true"', '"false"', 'true', 'false'].map(value => `<code>${value}</code>`).join(' | ')
    assert.ok(endpointPart('updateTenant').includes(form.replaceAll('"', '&quot;')))
    assert.ok(part('TenantSettings').includes('<code>true</code> | <code>false</code>'))
  })

  test('the defaults of page and size are shown (C24.2, C36.3)', () => {
    for (const [id, size] of Object.entries({ listTokens: limits.pageSizeDefault, searchTokens: 20 }))
      assert.match(endpointPart(id), new RegExp(`<code>size</code>.*[Dd]efault:? ${size}\\b`), id)
    assert.match(
      endpointPart('listTokens'),
      /<code>page<\/code><\/td><td>integer \(1 to [\d,]+\), default 1</,
    )
  })

  test('it says what a trace id must be (C4.2, C36.3)', () => {
    assert.match(text, /the one sent is not 8 to 64 letters, digits, dots, underscores and dashes/)
  })

  test('the token types are shown, and the fields of card data (§2.2, C9, C36.3)', () => {
    for (const name of tokenTypes.keys())
      assert.ok(part('Types').includes(`<td><code>${name}</code></td>`), name)
    for (const name of ['number', 'expiration_month', 'expiration_year', 'cvc'])
      assert.ok(part('CardData').includes(`<code>${name}</code>`), name)
  })

  test('the limits are shown (C8.1, C36.3)', () => {
    for (const name of Object.keys(limits)) assert.ok(part('Limits').includes(`<code>${name}</code>`), name)
    assert.ok(part('Limits').includes('<td>1,048,576</td>'))
  })

  test('every link in it leads somewhere, and no sentence ends twice (C36.3)', () => {
    const links = [...text.matchAll(/href="#(\w+)"/g)].map(([, id = '']) => id)
    assert.ok(links.length > 50)
    for (const id of new Set(links)) assert.equal(text.split(`id="${id}"`).length, 2, id)
    assert.doesNotMatch(text, /[?.;]\./)
    assert.doesNotMatch(text, /undefined|\[object/)
  })
})
