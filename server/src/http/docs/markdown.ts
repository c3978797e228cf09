import { pre, table } from './forms.ts'
import { Html, html, type Part } from './html.ts'

/** Where a link of a page leads in the documentation; undefined if what it names is not there. */
export type LinkReader = (target: string) => string | undefined

export type Section = {
  readonly id: string
  readonly title: string
  readonly level: number
  readonly text: string
}

export type Guide = { readonly title: string; readonly body: Part; readonly sections: readonly Section[] }

/** The part of Markdown that the project's own pages use. They are trusted, and everything in them is escaped all the same. */
export const readGuide = (source: string, readLink: LinkReader): Guide => {
  const lines = source.split('\n')
  const sections: { id: string; title: string; level: number; text: string }[] = []
  const body = blocks(
    lines,
    readLink,
    (level, text) => {
      const title = plain(text)
      const section = { id: slug(title), title, level, text: '' }
      sections.push(section)
      return section.id
    },
    text => {
      const last = sections.at(-1)
      if (last !== undefined) last.text += `${text} `
    },
  )
  return { title: sections[0]?.title ?? '', body, sections: sections.slice(1) }
}

const fenceMark = '\u0060'.repeat(3)

const blocks = (
  lines: readonly string[],
  readLink: LinkReader,
  begin: (level: number, title: string) => string,
  note: (text: string) => void,
): Part[] => {
  const made: Part[] = []
  const inline = (text: string): Part => inlineParts(text, readLink)
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? ''
    const heading = /^(#{1,4}) (.*)$/.exec(line)
    const fence = /^\x60{3}(\w*)$/.exec(line)
    if (line.trim() === '' || line.startsWith('<!--')) at += 1
    else if (heading !== null) {
      const [, marks = '', title = ''] = heading
      const id = begin(marks.length, title)
      // The layout shows the title of the page.
      if (marks.length > 1)
        made.push(new Html(`<h${marks.length} id="${id}">`), inline(title), new Html(`</h${marks.length}>\n`))
      at += 1
    } else if (fence !== null) {
      const end = lines.indexOf(fenceMark, at + 1)
      const text = lines.slice(at + 1, end).join('\n')
      made.push(pre(fence[1] || 'text', text), '\n')
      note(text)
      at = end + 1
    } else if (line.startsWith('|')) {
      const end = endOf(lines, at, each => each.startsWith('|'))
      const [head = [], , ...rows] = lines.slice(at, end).map(cellsOf)
      made.push(
        table(
          head.map(plain),
          rows.map(cells => cells.map(inline)),
        ),
      )
      note(lines.slice(at, end).join(' '))
      at = end
    } else if (listMark(line) !== undefined) {
      const end = endOf(
        lines,
        at,
        (each, before) =>
          listMark(each) !== undefined || /^ {2,}\S/.test(each) || (each === '' && /^ {2,}\S/.test(before)),
      )
      made.push(list(lines.slice(at, end), readLink, begin, note))
      at = end
    } else {
      const end = endOf(lines, at, each => each.trim() !== '' && !/^(#|\x60{3}|\||[-*] |\d+\. )/.test(each))
      const stop = Math.max(end, at + 1)
      const text = lines.slice(at, stop).join('\n')
      made.push(html`<p>${inline(text)}</p>
`)
      note(text)
      at = stop
    }
  }
  return made
}

const endOf = (
  lines: readonly string[],
  from: number,
  belongs: (line: string, next: string) => boolean,
): number => {
  let end = from
  while (end < lines.length && belongs(lines[end] ?? '', lines[end + 1] ?? '')) end += 1
  return end
}

const listMark = (line: string): string | undefined => /^(?:[-*]|\d+\.) /.exec(line)?.[0]

const list = (
  lines: readonly string[],
  readLink: LinkReader,
  begin: (level: number, title: string) => string,
  note: (text: string) => void,
): Part => {
  const items: string[][] = []
  for (const line of lines) {
    const mark = listMark(line)
    if (mark !== undefined) items.push([line.slice(mark.length)])
    else items.at(-1)?.push(line.replace(/^ {2,3}/, ''))
  }
  const tag = /^\d/.test(lines[0] ?? '') ? 'ol' : 'ul'
  return [
    new Html(`<${tag}>`),
    items.map(item => {
      const at = item.findIndex(
        (line, index) => index > 0 && (listMark(line) !== undefined || line.startsWith(fenceMark)),
      )
      const own = at === -1 ? item : item.slice(0, at)
      note(own.join(' '))
      const inner = at === -1 ? [] : blocks(item.slice(at), readLink, begin, note)
      return html`<li>${inlineParts(own.join('\n').trim(), readLink)}${inner}</li>`
    }),
    new Html(`</${tag}>\n`),
  ]
}

/** A bar in a cell is written `\|`. */
const cellsOf = (line: string): string[] =>
  line
    .replace(/^\||\|\s*$/g, '')
    .split(/(?<!\\)\|/)
    .map(cell => cell.trim().replaceAll('\\|', '|'))

const inlinePattern =
  /(\x60+)([\s\S]+?)\1|\[((?:[^[\]]|\[[^\]]*\])+)\]\(([^)\s]+)\)|\*\*([\s\S]+?)\*\*|(?<![\w*])\*([^*\s][^*]*)\*/

const inlineParts = (text: string, readLink: LinkReader): Part => {
  const parts: Part[] = []
  let rest = text
  for (;;) {
    const found = inlinePattern.exec(rest)
    if (found === null) return [...parts, rest]
    const [whole, ticks, code, label, target, strong, emphasis] = found
    parts.push(rest.slice(0, found.index))
    rest = rest.slice(found.index + whole.length)
    if (ticks !== undefined) parts.push(html`<code>${code?.trim()}</code>`)
    else if (label !== undefined && target !== undefined)
      parts.push(linkPart(label, readLink(target), readLink))
    else if (strong !== undefined) parts.push(html`<strong>${inlineParts(strong, readLink)}</strong>`)
    else parts.push(html`<em>${inlineParts(emphasis ?? '', readLink)}</em>`)
  }
}

const linkPart = (label: string, target: string | undefined, readLink: LinkReader): Part =>
  target === undefined
    ? inlineParts(label, readLink)
    : html`<a href="${target}">${inlineParts(label, readLink)}</a>`

const plain = (text: string): string => text.replace(/[\x60*]/g, '').replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')

/** As code hosts make them of headings, so that links between the pages work in both places. */
export const slug = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
