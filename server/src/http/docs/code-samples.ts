import type { ExampleRequest } from '../../contract/example-requests.ts'
import { isJsonObject, type Json } from '../../domain/json/json.ts'
import { clientCalls } from './client-methods.ts'

export const sampleLanguages = { curl: 'curl', ts: 'TypeScript', py: 'Python' } as const
export type SampleLanguage = keyof typeof sampleLanguages

export type SampledRequest = {
  readonly id: string
  readonly request: ExampleRequest
  /** Undefined where no key is needed. */
  readonly keyHeader: string | undefined
}

/** The same request in each language; what the client package has no method for has no TypeScript. */
export const codeSamples = (sampled: SampledRequest): Partial<Record<SampleLanguage, string>> => {
  if (sampled.id === 'invokeProxy') return proxySamples(sampled.keyHeader ?? '')
  const typescript = clientCode(sampled)
  return {
    curl: curl(sampled),
    ...(typescript !== undefined && { ts: typescript }),
    py: python(sampled),
  }
}

/** A command for a shell that has the address in VAULT and the key in API_KEY. */
const curl = ({ request: { method, path, type, body }, keyHeader }: SampledRequest): string => {
  const isImplied = method === (body === undefined ? 'GET' : 'POST')
  return [
    `curl -s ${isImplied ? '' : `-X ${method} `}"$VAULT${path}"`,
    ...(keyHeader === undefined ? [] : [`-H "${keyHeader}: $API_KEY"`]),
    ...(type === undefined ? [] : [`-H 'Content-Type: ${type}'`]),
    ...(body === undefined ? [] : [`-d '${written(body, json).replaceAll("'", "'\\''")}'`]),
  ].join(' \\\n  ')
}

const clientCode = ({ id, request }: SampledRequest): string | undefined => {
  const call = clientCalls[id]
  if (call === undefined) return undefined
  const target = `vault.${call.method}(${clientArguments(id, request).join(', ')})`
  if (call.each === undefined) return `await ${target}`
  return `for await (const ${call.each} of ${target}) console.log(${call.each})`
}

const clientArguments = (id: string, { path, pathParameters, body }: ExampleRequest): string[] => {
  const ids = pathParameters.map(value => written(value, script))
  // The query is the one thing that it needs, and the client pages by itself.
  if (id === 'searchTokensByCursor' && isJsonObject(body ?? null))
    return [written((body as { query: Json }).query, script)]
  if (body !== undefined) return [...ids, written(body, script)]
  const query = queryOf(path)
  return query === undefined ? ids : [...ids, written(query, script)]
}

/** `metadata[customer]=8` is a map. */
const queryOf = (path: string): { [name: string]: Json } | undefined => {
  const at = path.indexOf('?')
  if (at === -1) return undefined
  const query: { [name: string]: Json } = {}
  for (const [name, text] of new URLSearchParams(path.slice(at))) {
    const [, map, key] = /^(\w+)\[(.*)\]$/.exec(name) ?? []
    const value: Json = /^\d+$/.test(text) && map === undefined ? Number(text) : text
    if (map !== undefined && key !== undefined) {
      const known = query[map] ?? {}
      query[map] = isJsonObject(known) ? { ...known, [key]: value } : value
    } else query[name] = query[name] === undefined ? value : [query[name], value].flat()
  }
  return query
}

const python = ({ request: { method, path, type, body }, keyHeader }: SampledRequest): string => {
  const special = type === undefined || type === 'application/json' ? undefined : type
  const headers =
    special === undefined ? keyHeader && 'headers=KEY' : `headers={**KEY, "Content-Type": "${special}"}`
  const given = [
    `VAULT + "${path}"`,
    ...(headers === undefined ? [] : [headers]),
    ...(body === undefined ? [] : [`json=${written(body, pythonic)}`]),
  ]
  return `requests.${method.toLowerCase()}(${given.join(', ')})`
}

/** How a language writes what JSON can say. */
type Notation = {
  readonly key: (name: string) => string
  readonly text: (value: string) => string
  readonly words: readonly [yes: string, no: string, nothing: string]
}

const json: Notation = {
  key: name => JSON.stringify(name),
  text: JSON.stringify,
  words: ['true', 'false', 'null'],
}
const pythonic: Notation = { ...json, words: ['True', 'False', 'None'] }
const script: Notation = {
  ...json,
  key: name => (/^[a-z_]\w*$/i.test(name) ? name : quoted(name)),
  text: value => quoted(value),
}
/** As this project writes strings: in single quotes unless there are some in it. */
const quoted = (text: string): string => {
  const inner = JSON.stringify(text).slice(1, -1)
  return inner.includes("'") ? `"${inner}"` : `'${inner.replaceAll('\\"', '"')}'`
}

const lineMax = 72

/** On one line if that is readable. */
const written = (value: Json, notation: Notation, indent = ''): string => {
  const short = onOneLine(value, notation)
  if (typeof value !== 'object' || value === null || indent.length + short.length <= lineMax) return short
  const inner = `${indent}  `
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const parts = Array.isArray(value)
    ? value.map(item => written(item, notation, inner))
    : Object.entries(value).map(([name, item]) => `${notation.key(name)}: ${written(item, notation, inner)}`)
  return `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}`
}

const onOneLine = (value: Json, notation: Notation): string => {
  if (Array.isArray(value)) return `[${value.map(item => onOneLine(item, notation)).join(', ')}]`
  if (isJsonObject(value)) {
    const parts = Object.entries(value).map(
      ([name, item]) => `${notation.key(name)}: ${onOneLine(item, notation)}`,
    )
    return parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`
  }
  const [yes, no, nothing] = notation.words
  if (typeof value === 'string') return notation.text(value)
  if (value === true) return yes
  if (value === false) return no
  return value === null ? nothing : String(value)
}

/** What answers are shown as. */
export const answerText = (answer: Json): string => written(answer, json)

/** A charge: the vault puts the number of a card into it on the way. */
const proxySamples = (keyHeader: string): Record<SampleLanguage, string> => {
  const proxyKey = keyHeader.replace(/API-KEY$/, 'PROXY-KEY')
  const number = `{{ customer-8-card | json: "$.number" }}`
  const body = { amount: 100, card: number }
  return {
    curl: [
      'curl -s "$VAULT/proxy/v1/charges"',
      `-H "${keyHeader}: $API_KEY" -H "${proxyKey}: $PROXY_KEY"`,
      `-H 'Content-Type: application/json'`,
      `-d '${written(body, json)}'`,
    ].join(' \\\n  '),
    ts: `await vault.proxy({
  proxyKey: PROXY_KEY,
  path: '/v1/charges',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(${written(body, script)}),
})`,
    py: `requests.post(VAULT + "/proxy/v1/charges", headers={**KEY, "${proxyKey}": PROXY_KEY}, json=${written(body, pythonic)})`,
  }
}
