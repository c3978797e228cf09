import { type Html, html } from './html.ts'

/** Where pages are, seen from pages: below `/docs`, or files beside each other in an export. */
export type Links = {
  /** `page` may have an anchor: `errors#id_taken`. The first page has no name. */
  readonly to: (page: string) => string
  /** A file that a page loads. */
  readonly toFile: (name: string) => string
  /** The way to what the vault itself answers, or undefined if there is no vault beside the pages. */
  readonly toVault: ((path: string) => string) | undefined
  readonly toShape: (name: string) => Html
  readonly toCode: (code: string) => Html
}

const linksBy = (to: Links['to'], toFile: Links['toFile'], toVault: Links['toVault']): Links => ({
  to,
  toFile,
  toVault,
  toShape: name => html`<a href="${to(`shapes#${name}`)}">${name}</a>`,
  toCode: code => html`<a href="${to(`errors#${code}`)}">${code}</a>`,
})

export const servedLinks = linksBy(
  page => (page === '' || page.startsWith('#') ? `/docs${page}` : `/docs/${page}`),
  name => `/docs/${name}`,
  path => path,
)

export const exportedLinks = linksBy(
  page => {
    const [name = '', anchor] = page.split('#')
    return `${exportedName(name)}${anchor === undefined ? '' : `#${anchor}`}`
  },
  name => name,
  undefined,
)

/** `index.html` is what web servers show for a folder. */
export const exportedName = (page: string): string => (page === '' ? 'index.html' : `${page}.html`)
