import { tags } from '../../contract/endpoint.ts'
import type { OpenApiDocument, Operation } from '../../contract/openapi-document.ts'
import { dataName } from '../../contract/tokens/schemas.ts'
import { tokenTypes } from '../../domain/tokens/types/registry.ts'
import { type DocumentedEndpoint, endpointSection } from './endpoint-section.ts'
import { code, jsonText, pre, shape, table } from './forms.ts'
import { type GuideName, guide, guideNames } from './guides.ts'
import { html, type Part } from './html.ts'
import type { NamedPage, PageContent } from './layout.ts'
import type { Links } from './links.ts'
import { playgroundPage } from './playground-page.ts'
import { errorsPage, refusalWords } from './refusals.ts'

/** What a page is made of. */
export type Material = { readonly links: Links; readonly document: OpenApiDocument }

/** What a search finds: a place, and the words by which it does. */
export type Findable = { readonly id: string; readonly title: string; readonly text: string }

export type Page = NamedPage & {
  readonly make: (material: Material) => PageContent
  readonly findable: (material: Material) => readonly Findable[]
  readonly scripts?: readonly string[]
}

const startPage: Page = {
  name: '',
  title: 'Start',
  group: 'Guides',
  make: ({ links, document }) => ({ body: start(links, document), entries: [] }),
  findable: () => [
    { id: '', title: 'Start: the first request', text: 'key header curl typescript python install' },
  ],
}

const guideTitles: Readonly<Record<GuideName, string>> = {
  cards: 'Cards, accounts, identity numbers',
  tokens: 'Tokens',
  expressions: 'Masks and expressions',
  access: 'Who sees what',
  use: 'Using tokens unseen',
  search: 'Search',
  events: 'Events and webhooks',
  production: 'Going to production',
  'drop-in': 'From another vault',
  'pci-scope': 'PCI scope',
}

const guidePages = guideNames.map(
  (name): Page => ({
    name,
    title: guideTitles[name],
    group: 'Guides',
    make: ({ links }) => {
      const { body, sections } = guide(name, links)
      return { body, entries: sections.filter(({ level }) => level === 2) }
    },
    findable: ({ links }) => {
      const { title, sections } = guide(name, links)
      return [{ id: '', title: guideTitles[name], text: title }, ...sections]
    },
  }),
)

const endpointsOf = (document: OpenApiDocument, tag: string): DocumentedEndpoint[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      operation.tags.includes(tag) && isShown(operation) ? [{ path, method, operation }] : [],
    ),
  )

/** A request to a destination has any method and path: one of ten operations stands for all. */
const isShown = ({ operationId }: Operation): boolean =>
  operationId === 'invokeProxy' || !operationId.startsWith('invokeProxy')

const tagPages = Object.entries(tags).map(
  ([tag, description]): Page => ({
    name: `api-${tag.toLowerCase()}`,
    title: tag,
    group: 'Reference',
    make: ({ links, document }) => ({
      body: [
        html`<p>${description} The examples take the vault's address and a key from <a href="${links.to('#keys')}">the first page</a>.</p>`,
        endpointsOf(document, tag).map(one => endpointSection(links, document, one)),
      ],
      entries: endpointsOf(document, tag).map(({ operation }) => ({
        id: operation.operationId,
        title: operation.summary,
      })),
    }),
    findable: ({ document }) =>
      endpointsOf(document, tag).map(({ path, method, operation }) => ({
        id: operation.operationId,
        title: `${method.toUpperCase()} ${path}`,
        text: [
          operation.operationId,
          operation.summary,
          operation.description,
          ...operation.parameters.flatMap(one => ('in' in one ? [one.name] : [])),
        ].join(' '),
      })),
  }),
)

const tablePages: readonly Page[] = [
  {
    name: 'types',
    title: 'Token types',
    group: 'Reference',
    make: ({ links }) => ({ body: typesTable(links), entries: [] }),
    findable: () =>
      [...tokenTypes.values()].map(({ name, container }) => ({
        id: '',
        title: `type ${name}`,
        text: container,
      })),
  },
  {
    name: 'shapes',
    title: 'Shapes',
    group: 'Reference',
    make: ({ links, document }) => ({
      body: Object.entries(document.components.schemas).map(
        ([name, schema]) => html`<section id="${name}"><h2>${name}</h2>${shape(links, schema)}</section>
`,
      ),
      entries: Object.keys(document.components.schemas).map(name => ({ id: name, title: name })),
    }),
    findable: ({ document }) =>
      Object.entries(document.components.schemas).map(([name, { properties = {} }]) => ({
        id: name,
        title: name,
        text: Object.keys(properties).join(' '),
      })),
  },
  {
    name: 'errors',
    title: 'Why was this refused?',
    group: 'Reference',
    make: ({ links }) => errorsPage(links),
    findable: refusalWords,
  },
  {
    name: 'limits',
    title: 'Limits',
    group: 'Reference',
    make: ({ document }) => ({
      body: table(
        ['Limit', 'Value'],
        Object.entries(document['x-limits']).map(([name, value]) => [code(name), value.toLocaleString('en')]),
      ),
      entries: [],
    }),
    findable: ({ document }) => [
      { id: '', title: 'Limits', text: Object.keys(document['x-limits']).join(' ') },
    ],
  },
  {
    name: 'playground',
    title: 'Try an expression',
    group: 'Guides',
    make: () => ({ body: playgroundPage(), entries: [] }),
    findable: () => [
      { id: '', title: 'Try an expression', text: 'playground mask filter liquid reveal_last' },
    ],
    scripts: ['playground.js'],
  },
]

const isGuide = ({ group }: Page): boolean => group === 'Guides'

/** All pages, in the order of the sidebar. */
export const pages: readonly Page[] = [
  startPage,
  ...guidePages,
  ...tablePages.filter(isGuide),
  ...tagPages,
  ...tablePages.filter(page => !isGuide(page)),
]

const typesTable = (links: Links): Part =>
  html`<p>What a token of each type has, unless its creator says otherwise.</p>${table(
    ['Type', 'Data', 'Container', 'Mask', 'Fingerprint', 'Search indexes'],
    [...tokenTypes.values()].map(type => [
      code(type.name),
      links.toShape(dataName(type)),
      code(type.container),
      code(jsonText(type.mask)),
      code(type.fingerprint),
      (type.searchIndexes ?? []).map(index => [code(index), ' ']),
    ]),
  )}`

const start = (links: Links, { info, components }: OpenApiDocument): Part => {
  const header = components.securitySchemes.apiKey.name
  const { IdempotencyKey, TraceId } = components.parameters
  const link = (page: string, text: string): Part => html`<a href="${links.to(page)}">${text}</a>`
  return html`<p class="lead">${info.summary}</p>
<ul class="cards"><li>${link('cards', 'Store a card')} and get it back: the first guide.</li>
<li>${link('access', 'Who sees what')}: whole, masked, or nothing, by rule.</li>
<li>${link('use', 'Use a card without seeing it')}: the vault sends it for you.</li>
<li>${link('playground', 'Try an expression')} in this page, with data of your own.</li>
<li>${link('errors', 'Why was this refused?')} Every code, with its reasons.</li>
<li>${link('drop-in', 'Coming from another vault')}: what changes, and what stays.</li>
<li>${link('pci-scope', 'PCI scope')}: who is in, and who is out.</li></ul>
<h2 id="keys">Address and key</h2>
<p>Every request carries an API key in the header ${code(header)}, except where the reference says “open”. The examples take both from here:</p>
<div class="sample">${pre('curl', `VAULT=http://127.0.0.1:8080\nAPI_KEY=key_private_…`)}${pre(
    'ts',
    `import { Vault } from 'strongroom-client'\n\nconst vault = new Vault({ baseUrl: 'http://127.0.0.1:8080', apiKey: 'key_private_…' })`,
  )}${pre(
    'py',
    `import requests\n\nVAULT = "http://127.0.0.1:8080"\nKEY = {"${header}": "key_private_…"}`,
  )}</div>
<p><code>strongroom dev</code> prints three keys: <em>general</em> creates and updates tokens, <em>private</em> reads, searches and deletes them, <em>management</em> says who may do what. Ids of applications, keys and the like in the examples stand for your own.</p>
<h2 id="headers">Headers</h2>
<ul><li>${code(IdempotencyKey?.name)}, where an endpoint takes it: ${IdempotencyKey?.description}</li>
<li>${code(TraceId?.name)}, in any request: ${TraceId?.description}</li></ul>
<h2 id="anywhere">At any path</h2>
<p>Refusals are ${links.toShape('Problem')}s. Broken HTTP gets 400, 408 or 431, and unknown paths and methods get 404 or 405.</p>
${links.toVault && html`<p>The same for tools: <a href="${links.toVault('/openapi.json')}">openapi.json</a>, version ${info.version}.</p>`}`
}
