import type { Endpoint } from '../contract/endpoint.ts'
import { endpoints } from '../contract/endpoints.ts'
import { openApi } from '../contract/openapi.ts'

/** Made once: neither changes while the service runs. */
const once = (make: (headerPrefix: string) => string): ((headerPrefix: string) => string) => {
  const made = new Map<string, string>()
  return headerPrefix => {
    const text = made.get(headerPrefix) ?? make(headerPrefix)
    made.set(headerPrefix, text)
    return text
  }
}

export const openApiText = once(headerPrefix => JSON.stringify(openApi(headerPrefix)))

/** A page that needs no script and loads nothing: what a person at a terminal wants to look up. */
export const docsPage = once(
  headerPrefix => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Strongroom</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a2233;background:#fff}
h2{margin:2.2rem 0 .3rem;font-size:1.1rem}code{font-family:ui-monospace,monospace}
.m{display:inline-block;min-width:4.5rem;font-weight:700}table{border-collapse:collapse;margin:.4rem 0}
td,th{text-align:left;vertical-align:top;padding:.2rem 1rem .2rem 0;border-bottom:1px solid #dde}.p{color:#667}
@media(prefers-color-scheme:dark){body{color:#dde3ee;background:#12161f}td,th{border-color:#334}.p{color:#9ab}}
</style></head><body>
<h1>Strongroom</h1>
<p>A token vault: sensitive values in; tokens, masks and fingerprints out. Every request carries the header
<code>${headerPrefix.toUpperCase()}-API-KEY</code>, but for those marked open. The same as a document for tools:
<a href="/openapi.json">openapi.json</a>.</p>
${Object.values<Endpoint>(endpoints).map(section).join('\n')}
</body></html>
`,
)

const section = ({ method, path, summary, permission, bodyType, body, query }: Endpoint): string => `
<h2><code><span class="m">${method}</span>${escapeHtml(path)}</code></h2>
<p>${escapeHtml(summary)}. <span class="p">${permission === 'open' ? 'open' : `needs ${permission}`}${
  bodyType === undefined ? '' : ` · ${bodyType}`
}</span></p>${table('Body', bodyFields(body))}${table(
  'Query',
  (query ?? []).map(({ name, description }) => [name, description]),
)}`

const bodyFields = (body: Endpoint['body']): [string, string][] => {
  const schema = body as
    | { properties?: Record<string, { description?: string; type?: string | string[] }> }
    | undefined
  return Object.entries(schema?.properties ?? {}).map(([name, { type, description }]) => [
    name,
    [[type ?? 'any'].flat().join(' or '), description].filter(Boolean).join('. '),
  ])
}

const table = (title: string, rows: readonly (readonly [string, string])[]): string =>
  rows.length === 0
    ? ''
    : `<table><tr><th>${title}</th><th></th></tr>${rows
        .map(
          ([name, text]) => `<tr><td><code>${escapeHtml(name)}</code></td><td>${escapeHtml(text)}</td></tr>`,
        )
        .join('')}</table>`

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
