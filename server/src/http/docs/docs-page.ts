import { type ExampleRequest, exampleRequests } from '../../contract/example-requests.ts'
import type { OpenApiDocument, Operation, Parameter, Schema } from '../../contract/openapi-document.ts'
import { dataName } from '../../contract/tokens/schemas.ts'
import type { Json } from '../../domain/json/json.ts'
import { tokenTypes } from '../../domain/tokens/types/registry.ts'
import { Html, html, type Part } from './html.ts'

/** The OpenAPI document for people. It needs no script, loads nothing, and shows a request to paste for each endpoint. */
export const docsPage = (document: OpenApiDocument): string => {
  const { info, tags, components } = document
  const { IdempotencyKey, TraceId } = components.parameters
  const endpoints = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const tagged = (tag: string): DocumentedEndpoint[] =>
    endpoints.filter(({ operation }) => operation.tags.includes(tag))
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Strongroom</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>${style}</style></head><body>
<h1>Strongroom</h1>
<p>${info.summary} The same for tools: <a href="/openapi.json">openapi.json</a>, version ${info.version}.</p>
<ul>
<li>Every request carries an API key in the header ${code(components.securitySchemes.apiKey.name)}, except at endpoints marked as open.
The examples take it and the vault's address from the shell: ${code('VAULT=http://127.0.0.1:8080 API_KEY=key_…')}
The ids of applications and keys in them stand for your own.</li>
<li>${code(IdempotencyKey?.name)}, where an endpoint takes it: ${IdempotencyKey?.description}</li>
<li>${code(TraceId?.name)}, in any request: ${TraceId?.description}</li>
<li>Refusals are ${link('Problem')}s. At any path, broken HTTP gets 400, 408 or 431, and unknown paths and methods get 404 or 405.</li>
</ul>
<nav>${tags.map(
    ({ name }) =>
      html`<p><b>${name}</b> ${tagged(name).map(({ operation }) => [link(operation.operationId), ' '])}</p>`,
  )}<p><b>More</b> ${['Types', 'Shapes', 'Limits'].map(name => [link(name), ' '])}</p></nav>
${tags.map(
  ({ name, description }) =>
    html`<h2>${name}</h2><p>${description}</p>${tagged(name).map(one => endpointSection(document, one))}`,
)}
<h2 id="Types">Types</h2><p>What a token of each type has, unless its creator says otherwise.</p>${typesTable()}
<h2 id="Shapes">Shapes</h2>${Object.entries(components.schemas).map(
    ([name, schema]) => html`<h3 id="${name}">${name}</h3>${shape(schema)}`,
  )}
<h2 id="Limits">Limits</h2>${table(
    ['Limit', 'Value'],
    Object.entries(document['x-limits']).map(([name, value]) => [code(name), value.toLocaleString('en')]),
  )}
</body></html>
`.text
}

type DocumentedEndpoint = { readonly path: string; readonly method: string; readonly operation: Operation }

const endpointSection = (
  { components }: OpenApiDocument,
  { path, method, operation }: DocumentedEndpoint,
): Html => {
  const { operationId, summary, requestBody, responses } = operation
  const { TraceId, ...headers } = components.parameters
  const permission = operation['x-permission']
  const parameters = operation.parameters.flatMap(one =>
    'in' in one ? [one] : (headers[lastPart(one.$ref)] ?? []),
  )
  const [example] = exampleRequests(path, method, operation)
  const [body] = Object.entries(requestBody?.content ?? {})
  return html`<section id="${operationId}"><h3><code><b>${method.toUpperCase()}</b> ${path}</code></h3>
<p>${summary}${summary.endsWith('?') ? '' : '.'} <span class="p">${permission === undefined ? 'Open.' : `Needs ${permission}.`}</span></p>
${example && html`<pre>${curl(example, permission && components.securitySchemes.apiKey.name)}</pre>`}
${parameters.length > 0 && table(['Parameter', 'Form', ''], parameters.map(parameterRow))}
${body && html`<p>Body: ${formOf(body[1].schema)}, as ${code(body[0])}. ${body[1].schema.description}</p>`}
${body && fieldTable(resolve(body[1].schema, components.schemas))}
<details><summary>Answers: ${Object.keys(responses).join(', ')}</summary>${table(
    ['Status', 'Body', 'Headers', ''],
    Object.entries(responses).map(([status, { description, headers, content = {} }]) => [
      status,
      Object.values(content).map(({ schema }) => formOf(schema)),
      Object.keys(headers)
        .filter(name => name !== TraceId?.name)
        .map(name => [code(name), ' ']),
      description,
    ]),
  )}</details></section>`
}

/** A command for a shell that has the address in VAULT and the key in API_KEY. */
const curl = ({ method, path, type, body }: ExampleRequest, keyHeader: string | undefined): string => {
  const isImplied = method === (body === undefined ? 'GET' : 'POST')
  return [
    `curl -s ${isImplied ? '' : `-X ${method} `}"$VAULT${path}"`,
    ...(keyHeader === undefined ? [] : [`-H "${keyHeader}: $API_KEY"`]),
    ...(type === undefined ? [] : [`-H 'Content-Type: ${type}'`]),
    ...(body === undefined ? [] : [`-d '${bodyText(body).replaceAll("'", "'\\''")}'`]),
  ].join(' \\\n  ')
}

/** On one line if that is readable. */
const bodyText = (body: Json): string => {
  const text = JSON.stringify(body)
  return text.length <= 72 ? text : JSON.stringify(body, null, 2)
}

const typesTable = (): Html =>
  table(
    ['Type', 'Data', 'Container', 'Mask', 'Fingerprint', 'Search indexes'],
    [...tokenTypes.values()].map(type => [
      code(type.name),
      link(dataName(type)),
      code(type.container),
      code(jsonText(type.mask)),
      code(type.fingerprint),
      (type.searchIndexes ?? []).map(index => [code(index), ' ']),
    ]),
  )

const shape = (schema: Schema): Html =>
  fieldTable(schema) ?? html`<p>${formOf(schema)}. ${schema.description}</p>`

/** The fields of an object. Fields of an inline object follow the field that holds it, with dotted names. */
const fieldTable = (schema: Schema): Html | undefined => {
  const rows = fieldRows(schema, '')
  return rows.length === 0 ? undefined : table(['Field', 'Form', ''], rows)
}

const fieldRows = ({ properties = {}, required = [] }: Schema, before: string): Part[][] =>
  Object.entries(properties).flatMap(([name, field]) => [
    row(before + name, required.includes(name), field, field.description),
    ...fieldRows(field, `${before}${name}.`),
    ...fieldRows(field.items ?? {}, `${before}${name}[].`),
  ])

const parameterRow = ({ name, required, schema, description, in: place }: Parameter): Part[] =>
  row(name, required === true, schema, place === 'query' ? description : `In the ${place}. ${description}`)

const row = (name: string, isRequired: boolean, schema: Schema, description: string | undefined): Part[] => [
  [code(name), isRequired && html` <small>required</small>`],
  formOf(schema),
  description,
]

/** What a value may be, in a few words. */
const formOf = (schema: Schema): Part => {
  const { $ref, anyOf, enum: values, items, additionalProperties } = schema
  if ($ref !== undefined) return link(lastPart($ref))
  if (anyOf !== undefined) return anyOf.map((one, at) => [at > 0 && ' or ', formOf(one)])
  if (values !== undefined)
    return values.map((value, at) => [at > 0 && ' | ', code(choiceText(value, values))])
  const types = [schema.type ?? 'any JSON'].flat()
  return [
    types.filter(type => type !== 'null').join(' or '),
    bounds(schema),
    items && [' of ', formOf(items)],
    additionalProperties && [' of ', formOf(additionalProperties)],
    types.includes('null') && ' or null',
    schema.default !== undefined && `, default ${jsonText(schema.default)}`,
  ]
}

/** Quoted if other values beside it are not text: `"true"` and `true` would look the same. */
const choiceText = (value: Json, all: readonly Json[]): string | undefined =>
  all.every(one => typeof one === 'string' || one === null) ? jsonText(value) : JSON.stringify(value)

const bounds = (schema: Schema): string | undefined => {
  const { format, minLength, maxLength, minItems, maxItems, minimum, maximum } = schema
  if (format !== undefined) return ` (${format})`
  if (maxLength !== undefined) return ` (${range(minLength, maxLength)} characters)`
  if (maxItems !== undefined) return ` (${range(minItems, maxItems)})`
  return maximum === undefined ? undefined : ` (${range(minimum, maximum)})`
}

const range = (min: number | undefined, max: number): string =>
  `${min === undefined ? 'up' : min} to ${max.toLocaleString('en')}`

const resolve = (schema: Schema, schemas: OpenApiDocument['components']['schemas']): Schema =>
  (schema.$ref === undefined ? undefined : schemas[lastPart(schema.$ref)]) ?? schema

const table = (titles: readonly string[], rows: readonly (readonly Part[])[]): Html =>
  html`<div><table><tr>${titles.map(title => html`<th>${title}</th>`)}</tr>${rows.map(
    cells => html`<tr>${cells.map(cell => html`<td>${cell}</td>`)}</tr>
`,
  )}</table></div>`

const code = (text: string | undefined): Html | undefined =>
  text === undefined ? undefined : html`<code>${text}</code>`
const link = (id: string): Html => html`<a href="#${id}">${id}</a>`
const jsonText = (value: Json | undefined): string | undefined =>
  value === undefined || typeof value === 'string' ? value : JSON.stringify(value)
const lastPart = (reference: string): string => reference.split('/').at(-1) ?? ''

const style = new Html(`
body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1a2233;background:#fff}
h2{margin:3rem 0 .3rem}h3{margin:2rem 0 .3rem;font-size:1.1rem;overflow-wrap:anywhere}
code,pre{font-family:ui-monospace,monospace;font-size:.9em}
pre,div{overflow-x:auto}pre{padding:.6rem .8rem;background:#f3f5f9}
table{border-collapse:collapse;margin:.4rem 0}
td,th{text-align:left;vertical-align:top;padding:.2rem 1rem .2rem 0;border-bottom:1px solid #dde}
.p,small,summary{color:#667}a{color:#15c}
@media(prefers-color-scheme:dark){body{color:#dde3ee;background:#12161f}pre{background:#1b2130}td,th{border-color:#334}
.p,small,summary{color:#9ab}a{color:#8bf}}
`)
