import { openApi } from '../../contract/openapi.ts'
import { bundle } from './bundle.ts'
import { layout } from './layout.ts'
import { exportedLinks, exportedName, type Links, servedLinks } from './links.ts'
import { type Material, type Page, pages } from './pages.ts'
import { searchIndex } from './search-index.ts'
import { style } from './style.ts'

export type DocumentationFile = {
  readonly type: string
  readonly text: string
  readonly headers: Record<string, string>
}

/** Makes each text once, because none changes while the service runs. */
const once = <T>(make: (key: string) => T): ((key: string) => T) => {
  const made = new Map<string, T>()
  return key => {
    const known = made.get(key)
    if (known !== undefined) return known
    const text = make(key)
    made.set(key, text)
    return text
  }
}

const describe = once(openApi)
export const openApiText = once(headerPrefix => `${JSON.stringify(describe(headerPrefix))}\n`)

const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

const htmlType = 'text/html; charset=utf-8'
const scriptType = 'text/javascript; charset=utf-8'

const pageText = (page: Page, material: Material): string =>
  layout(material.links, pages, page, page.make(material), material.document.info.version, [
    'docs.js',
    ...(page.scripts ?? []),
  ]).text

/** What pages load: by name, with its type. */
const files: Readonly<
  Record<string, { type: string; make: (material: Material) => string | Promise<string> }>
> = {
  'docs.css': { type: 'text/css; charset=utf-8', make: () => style },
  'docs.js': { type: scriptType, make: () => bundle(new URL('./browser/page.ts', import.meta.url)) },
  'playground.js': {
    type: scriptType,
    make: () => bundle(new URL('./browser/playground.ts', import.meta.url)),
  },
  'search.json': {
    type: 'application/json; charset=utf-8',
    make: material => `${JSON.stringify(searchIndex(material))}\n`,
  },
}

const fileText = (name: string, links: Links, headerPrefix: string): Promise<string> | string | undefined => {
  const material = { links, document: describe(headerPrefix) }
  const page = pages.find(one => one.name === name)
  if (page !== undefined) return pageText(page, material)
  return Object.hasOwn(files, name) ? files[name]?.make(material) : undefined
}

const served = once((headerPrefix: string) =>
  once((name: string) => fileText(name, servedLinks, headerPrefix)),
)

/** A page, or what pages load; undefined if there is none of the name. The first page has no name. */
export const documentationFile = async (
  name: string,
  headerPrefix: string,
): Promise<DocumentationFile | undefined> => {
  // Names are checked before anything is kept under them.
  if (!pages.some(page => page.name === name) && !Object.hasOwn(files, name)) return undefined
  const text = await served(headerPrefix)(name)
  return text === undefined ? undefined : { type: files[name]?.type ?? htmlType, text, headers }
}

/** Every file of the documentation, to be served by any web server, by name. */
export const exportedDocumentation = async (headerPrefix: string): Promise<Map<string, string>> => {
  const all = new Map<string, string>()
  for (const { name } of pages)
    all.set(exportedName(name), (await fileText(name, exportedLinks, headerPrefix)) ?? '')
  for (const name of Object.keys(files))
    all.set(name, (await fileText(name, exportedLinks, headerPrefix)) ?? '')
  return all
}
