import { exampleRequests } from '../../contract/example-requests.ts'
import type { OpenApiDocument, Operation } from '../../contract/openapi-document.ts'
import { answerText, codeSamples } from './code-samples.ts'
import { code, fieldTable, formOf, lastPart, parameterTable, pre, resolve, table } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Links } from './links.ts'

export type DocumentedEndpoint = {
  readonly path: string
  readonly method: string
  readonly operation: Operation
}

/** Everything about one endpoint: what it does, a request in each language, what it answers, and what it takes. */
export const endpointSection = (
  links: Links,
  { components }: OpenApiDocument,
  { path, method, operation }: DocumentedEndpoint,
): Html => {
  const { operationId, summary, description, requestBody, responses } = operation
  const { TraceId, ...headers } = components.parameters
  const permission = operation['x-permission']
  const parameters = operation.parameters.flatMap(one =>
    'in' in one ? [one] : (headers[lastPart(one.$ref)] ?? []),
  )
  const [request] = exampleRequests(path, method, operation)
  const samples =
    request &&
    codeSamples({ id: operationId, request, keyHeader: permission && components.securitySchemes.apiKey.name })
  const [body] = Object.entries(requestBody?.content ?? {})
  const [[status, done] = []] = Object.entries(responses)
  const [reply] = Object.entries(done?.content ?? {})
  const answer = reply?.[1].examples?.answer
  return html`<section id="${operationId}"><h2>${summary}</h2>
<p class="route"><b class="${method}">${method.toUpperCase()}</b> <code>${path}</code> <span>${
    permission === undefined ? 'Open' : html`Needs <code>${permission}</code>`
  }</span></p>
<p>${withoutPermission(description)}</p>
${samples && html`<div class="sample">${Object.entries(samples).map(([language, text]) => pre(language, text))}</div>`}
<p class="label">Answer ${status}${reply === undefined && ', without a body'}</p>
${answer && 'value' in answer && pre('json', typeof answer.value === 'string' ? answer.value : answerText(answer.value))}
${parameters.length > 0 && parameterTable(links, parameters)}
${body && html`<p>Body: ${formOf(links, body[1].schema)}, as ${code(body[0])}. ${body[1].schema.description}</p>`}
${body && fieldTable(links, resolve(body[1].schema, components.schemas))}
<details><summary>Answers: ${Object.keys(responses).join(', ')}</summary>${table(
    ['Status', 'Body', 'Headers', 'Meaning'],
    Object.entries(responses).map(([status, { description, headers, content = {}, 'x-codes': codes }]) => [
      status,
      Object.values(content).map(({ schema }) => formOf(links, schema)),
      Object.keys(headers)
        .filter(name => name !== TraceId?.name)
        .map(name => [code(name), ' ']),
      codes === undefined ? description : codes.map((name, at) => [at > 0 && ', ', links.toCode(name)]),
    ]),
  )}</details></section>`
}

/** The line above it says so already. */
const withoutPermission = (description: string): string =>
  description.replace(/ ?Needs (?:a|no) key[^.]*\./, '').trim()
