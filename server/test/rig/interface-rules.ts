import assert from 'node:assert/strict'
import { Ajv, type ValidateFunction } from 'ajv'
import { answerHeaders, prefixed, receiptHeader } from '../../src/contract/headers.ts'
import { openApi } from '../../src/contract/openapi.ts'
import type { Header, Reference } from '../../src/contract/openapi-document.ts'
import type { TestReply } from './answers.ts'

/** Statuses that any path may answer with: broken HTTP, and methods or bodies that no endpoint asks for. */
const metAnywhere = [400, 404, 405, 408, 413, 415, 431]

const document = openApi('svc')
const routes = Object.entries(document.paths).map(([path, operations]) => ({
  // `/applications/key` is a path of its own, so the path with fewer parameters wins.
  parameters: path.split('{').length,
  pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}/?$`),
  operations,
}))
routes.sort((one, other) => one.parameters - other.parameters)

/** Forbids members that the document does not name: nobody would know of them. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]))
  return 'properties' in schema ? { additionalProperties: false, ...inner } : inner
}

// Neither formats nor the schemas themselves are checked: the meta-schema alone takes longer to compile than all of
// ours. Nor is the generated code optimized: that takes longer than running the checks of a whole test file.
const ajv = new Ajv({
  strict: false,
  validateFormats: false,
  validateSchema: false,
  meta: false,
  code: { optimize: false },
})
const components = ajv.addSchema({ $id: 'openapi', components: closed(document.components) })
const compiled = new Map<object, ValidateFunction>()
/** By their text: every problem of every endpoint has the same schema. */
const compiledTexts = new Map<string, ValidateFunction>()
const validatorOf = (schema: object): ValidateFunction => {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  const referring = JSON.stringify(closed(schema)).replaceAll('"#/components/', '"openapi#/components/')
  const validator = compiledTexts.get(referring) ?? components.compile(JSON.parse(referring))
  compiledTexts.set(referring, validator)
  compiled.set(schema, validator)
  return validator
}

/** C36: the OpenAPI document tells the truth; each exchange of each test is checked against it. */
export const assertInterfaceRules = (
  { status, headers, body }: TestReply,
  method: string,
  url: string,
): void => {
  const path = url.split('?', 1)[0] ?? ''
  const operation = routes.find(({ pattern }) => pattern.test(path))?.operations[method.toLowerCase()]
  if (operation === undefined) return
  const declared = operation.responses[status]
  if (declared === undefined) {
    assert.ok(metAnywhere.includes(status), `${method} answers ${status}, which the document does not tell`)
    return
  }
  const code = body?.proxy_error?.code ?? body?.code
  if (declared['x-codes'] !== undefined && body !== undefined)
    assert.ok(
      declared['x-codes'].includes(code),
      `${method} answers ${status} ${code}, which the document does not tell`,
    )
  assertHeaders(headers, declared.headers, `${method} ${status}`)
  const type = headers.get('content-type')?.split(';', 1)[0]
  assert.equal(type === undefined, declared.content === undefined, `${method} ${status} has a body or none`)
  const schema = type === undefined ? undefined : declared.content?.[type]?.schema
  if (type === undefined || !/[/+]json$/.test(type)) return
  assert.ok(schema !== undefined, `${method} answers with ${type}, which the document does not tell`)
  const validate = validatorOf(schema)
  assert.ok(
    validate(body),
    `${method} ${status} is not as the document tells: ${ajv.errorsText(validate.errors)}`,
  )
}

/** With the prefix that tests use, like all headers of the document. */
const receipt = prefixed('svc', receiptHeader.name)

/** Promised headers are present, and headers that the document knows occur nowhere else. */
const assertHeaders = (
  sent: Headers,
  declared: Readonly<Record<string, Reference>>,
  answer: string,
): void => {
  const { headers: known } = document.components
  for (const [name, { $ref }] of Object.entries(declared)) {
    const header = known[$ref.split('/').at(-1) ?? '']
    assert.ok(header !== undefined, `${name} is described nowhere`)
    assertHeader(sent.get(name), header, `${answer}: ${name}`)
  }
  for (const name of [...Object.keys(answerHeaders), receipt])
    assert.ok(name in declared || !sent.has(name), `${answer} has ${name}, which the document does not tell`)
}

const assertHeader = (value: string | null, { required, schema }: Header, place: string): void => {
  if (value === null) assert.ok(required !== true, `${place} is missing`)
  else assert.ok(validatorOf(schema)(schema.type === 'integer' ? Number(value) : value), `${place}: ${value}`)
}
