import { type Html, html, type Part } from './html.ts'
import type { Links } from './links.ts'

export type PageEntry = { readonly id: string; readonly title: string }

export type PageContent = {
  readonly body: Part
  /** What is on it, for the sidebar. */
  readonly entries: readonly PageEntry[]
}

export type NamedPage = { readonly name: string; readonly title: string; readonly group: string }

/** One page, with the way to all others beside it. */
export const layout = (
  links: Links,
  pages: readonly NamedPage[],
  page: NamedPage,
  { body, entries }: PageContent,
  version: string,
  scripts: readonly string[],
): Html => {
  const groups = [...new Set(pages.map(({ group }) => group))]
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${page.name === '' ? 'Strongroom' : `${page.title} · Strongroom`}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="${links.toFile('docs.css')}">
${scripts.map(name => html`<script src="${links.toFile(name)}" defer></script>`)}</head><body>
<a class="skip" href="#main">Skip to the text</a>
<header><a class="home" href="${links.to('')}"><svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true"><path d="M3 3h18v18H3z" fill="none" stroke="currentColor" stroke-width="2"/><circle cx="12" cy="12" r="4.5" fill="none" stroke="currentColor" stroke-width="2"/><path d="M12 4v3.5M12 16.5V20M4 12h3.5M16.5 12H20" stroke="currentColor" stroke-width="2"/></svg> Strongroom <small>${version}</small></a>
<div id="search" hidden data-index="${links.toFile('search.json')}"><input type="search" role="combobox" aria-expanded="false" aria-controls="found" aria-autocomplete="list" aria-label="Search the documentation" placeholder="Search  /" autocomplete="off" spellcheck="false"><ul id="found" role="listbox" aria-label="Found" hidden></ul></div>
<button id="menu" hidden aria-expanded="false" aria-controls="pages">Menu</button></header>
<div class="columns"><nav id="pages" aria-label="Pages">${groups.map(
    group =>
      html`<p>${group}</p><ul>${pages
        .filter(one => one.group === group)
        .map(one => navigationItem(links, one, one === page ? entries : undefined))}</ul>`,
  )}</nav>
<main id="main" tabindex="-1"><h1>${page.title}</h1>
${body}
</main></div></body></html>
`
}

const navigationItem = (
  links: Links,
  { name, title }: NamedPage,
  entries: readonly PageEntry[] | undefined,
): Html =>
  html`<li><a href="${links.to(name)}"${entries && html` aria-current="page"`}>${title}</a>${
    entries !== undefined &&
    entries.length > 0 &&
    html`<ul>${entries.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul>`
  }</li>
`
