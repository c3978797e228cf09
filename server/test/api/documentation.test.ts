import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Ajv, type ValidateFunction } from 'ajv'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { endpoints } from '../../src/contract/endpoints.ts'
import { type ExampleRequest, exampleRequests } from '../../src/contract/example-requests.ts'
import { openApi } from '../../src/contract/openapi.ts'
import type { OpenApiDocument, Schema } from '../../src/contract/openapi-document.ts'
import {
  applicationId,
  deliveryId,
  eventId,
  keyId,
  proxyId,
  webhookId,
} from '../../src/contract/path-parameters.ts'
import { newUuid } from '../../src/crypto/uuid.ts'
import { limits } from '../../src/domain/limits.ts'
import { tokenTypes } from '../../src/domain/tokens/types/registry.ts'
import { clientCalls } from '../../src/http/docs/client-methods.ts'
import { documentationFile } from '../../src/http/docs/documentation.ts'
import { pages } from '../../src/http/docs/pages.ts'
import { granted, type TestReply } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { onOneEngine, onSqliteAlone } from '../rig/every-engine.ts'
import { putFailedDelivery, putWebhook, unreachable } from '../rig/put-webhook.ts'
import { webhookFor } from '../rig/receivers.ts'
import type { TestVault } from '../rig/test-vault.ts'

const document = openApi('svc')
const operations = Object.entries(document.paths)
  .flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      operation,
      status: Number(Object.keys(operation.responses)[0]),
      examples: exampleRequests(path, method, operation),
    })),
  )
  // Needs a destination that answers: proxy.test.ts.
  .filter(({ operation }) => !operation.operationId.startsWith('invokeProxy'))
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
  const { tenantId, keys } = await vault.tenant(ownerAndManager)
  const isAboutTokens = document.tags[0]?.name === tagOf(id)
  if (id !== 'createToken') granted(await vault.post('/tokens', keys.owner, firstBody('createToken')))
  const application = granted(await vault.post('/applications', keys.manager, firstBody('createApplication')))
  const key = granted(await vault.post(`/applications/${application.id}/keys`, keys.manager, {}))
  const proxy = granted(await vault.post('/proxies', keys.manager, firstBody('createProxy')))
  const webhook = newUuid()
  await putWebhook(vault, tenantId, webhookFor(unreachable, webhook))
  const [event] = granted(await vault.get('/events', keys.manager)).data
  const delivery = await putFailedDelivery(vault, tenantId, webhook)
  return vault.send(
    method,
    path
      .replace(applicationId.example, application.id)
      .replace(keyId.example, key.id)
      .replace(eventId.example, event.id)
      .replace(proxyId.example, proxy.id)
      .replace(webhookId.example, webhook)
      .replace(deliveryId.example, delivery),
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
        const id = operation.operationId
        const reply = await sendExample(vault(), example, id)
        assert.equal(reply.status, status, reply.text)
        // A filter that finds nothing would not be an example.
        if (reply.body?.pagination !== undefined) assert.ok(reply.body.data.length > 0)
        if (status === 201 && !['createApiKey', 'createProxyKey', 'createWebhookSecret'].includes(id))
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
    for (const { id, method, path, status } of Object.values<Endpoint>(endpoints)) {
      // The way from / to the page is for people.
      if (status === 303) continue
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

  test('every operation says what it needs and shows an answer, and so does every problem (C36.3)', () => {
    const { schemas, examples } = document.components
    // To optimize its code takes longer than to run it once, and most problems have the same schema.
    const ajv = new Ajv({
      strict: false,
      validateFormats: false,
      validateSchema: false,
      code: { optimize: false },
    })
    ajv.addSchema({ $id: 'openapi', components: { schemas } })
    const compiled = new Map<string, ValidateFunction>()
    const check = (schema: Schema, value: unknown, place: string): void => {
      const text = JSON.stringify(schema).replaceAll('"#/components/', '"openapi#/components/')
      const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text))
      compiled.set(text, validate)
      assert.ok(validate(value), `${place}: ${ajv.errorsText(validate.errors)}`)
      assert.doesNotMatch(JSON.stringify(value), /"text"/, `${place}: a field has no example of its own`)
    }
    for (const { operation } of operations) {
      assert.match(operation.description, /^[A-Z].*Needs (?:a|no) key\b.*\.$|^Needs (?:a|no) key\b.*\.$/)
      for (const [status, { content = {} }] of Object.entries(operation.responses))
        for (const [type, { schema, examples: shown = {} }] of Object.entries(content)) {
          if (type === 'text/html' || operation.operationId === 'docsPage') continue
          const place = `${operation.operationId} ${status}`
          assert.ok(Object.keys(shown).length > 0, place)
          for (const [name, example] of Object.entries(shown))
            check(schema, 'value' in example ? example.value : examples[name]?.value, place)
        }
    }
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

onSqliteAlone('the documentation', reason, vault => {
  const texts = new Map<string, string>()
  let start: TestReply
  before(async () => {
    start = await vault().send('GET', '/docs')
    for (const { name } of pages)
      texts.set(name, (await vault().send('GET', name === '' ? '/docs' : `/docs/${name}`)).text)
  })
  const page = (name: string): string => texts.get(name) ?? assert.fail(name)
  const endpointPart = (id: string): string =>
    [...texts.values()].join('').split(`<section id="${id}">`)[1]?.split('</section>')[0] ?? assert.fail(id)

  test('it may load nothing but its own files, and runs no script from within a page (C36.3)', () => {
    const policy = start.headers.get('content-security-policy') ?? ''
    assert.match(policy, /^default-src 'none'; /)
    assert.match(policy, /require-trusted-types-for 'script'; trusted-types 'none'/)
    assert.doesNotMatch(policy, /unsafe|https?:|\*|data:/)
    assert.equal(start.headers.get('x-content-type-options'), 'nosniff')
  })

  test('its files have the types that browsers insist on, and an unknown one is a problem (C2, C36.3)', async () => {
    for (const [name, type] of Object.entries({
      'docs.css': 'text/css',
      'docs.js': 'text/javascript',
      'playground.js': 'text/javascript',
      'search.json': 'application/json',
    })) {
      const reply = await vault().send('GET', `/docs/${name}`)
      assert.equal(reply.headers.get('content-type'), `${type}; charset=utf-8`)
    }
    for (const name of ['nowhere', '__proto__', 'constructor', '..%2fpackage.json', 'cards.md', '%00']) {
      const reply = await vault().send('GET', `/docs/${name}`)
      assert.deepEqual([reply.status, reply.body.code], [404, 'not_found'], name)
    }
  })

  test('it has every endpoint, with a request in three languages, its headers and its answers (C36.3, C2)', () => {
    for (const { path, operation, examples } of operations) {
      const shown = endpointPart(operation.operationId)
      assert.ok(shown.includes(path), path)
      assert.ok(shown.includes(`&quot;$VAULT${examples[0]?.path}&quot;`), path)
      assert.ok(shown.includes(`data-lang="py">requests.`), path)
      assert.equal(shown.includes('data-lang="ts">'), operation.operationId in clientCalls, path)
      assert.equal(shown.includes('SVC-API-KEY'), operation.security.length > 0, path)
      for (const [status, { 'x-codes': codes = [] }] of Object.entries(operation.responses)) {
        assert.ok(shown.includes(`<td>${status}</td>`))
        for (const code of codes) assert.ok(shown.includes(`href="/docs/errors#${code}"`), code)
      }
      const takesKey = operation.parameters.some(one => '$ref' in one && one.$ref.endsWith('IdempotencyKey'))
      assert.equal(shown.includes('SVC-IDEMPOTENCY-KEY'), takesKey, path)
      const [done] = Object.values(operation.responses)
      const hasJson = done?.content?.['application/json']?.examples !== undefined
      if (hasJson) assert.ok(shown.includes('data-lang="json">'), path)
    }
  })

  test('the prefix of headers is the operator’s (C4.6)', async () => {
    const text = (await documentationFile('api-tokens', 'acme'))?.text ?? ''
    assert.ok(text.includes('ACME-API-KEY') && !text.includes('SVC-'))
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
    const form = `${['"true"', '"false"'].map(value => `<code>${value}</code>`).join(' | ')} or boolean`
    assert.ok(endpointPart('updateTenant').includes(form.replaceAll('"', '&quot;')))
    assert.ok(endpointPart('TenantSettings').includes('<code>true</code> | <code>false</code>'))
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
    assert.match(page(''), /the one sent is not 8 to 64 letters, digits, dots, underscores and dashes/)
  })

  test('the token types are shown, and the fields of card data (§2.2, C9, C36.3)', () => {
    for (const name of tokenTypes.keys())
      assert.ok(page('types').includes(`<td><code>${name}</code></td>`), name)
    for (const name of ['number', 'expiration_month', 'expiration_year', 'cvc'])
      assert.ok(endpointPart('CardData').includes(`<code>${name}</code>`), name)
  })

  test('the limits are shown (C8.1, C36.3)', () => {
    for (const name of Object.keys(limits)) assert.ok(page('limits').includes(`<code>${name}</code>`), name)
    assert.ok(page('limits').includes('<td>1,048,576</td>'))
  })
})
