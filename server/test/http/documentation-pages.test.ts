import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { documentationFile, exportedDocumentation } from '../../src/http/docs/documentation.ts'
import { guideNames } from '../../src/http/docs/guides.ts'
import { readGuide } from '../../src/http/docs/markdown.ts'
import { pages } from '../../src/http/docs/pages.ts'

const gzippedBytes = (text: string): number => gzipSync(text, { level: 9 }).length

const variants: Record<string, () => Promise<Map<string, string>>> = {
  served: async () => {
    const names = [...pages.map(({ name }) => name), 'docs.css', 'docs.js', 'playground.js', 'search.json']
    const made = new Map<string, string>()
    for (const name of names)
      made.set(name === '' ? '/docs' : `/docs/${name}`, (await documentationFile(name, 'svc'))?.text ?? '')
    return made
  },
  exported: () => exportedDocumentation('svc'),
}

for (const [variant, make] of Object.entries(variants))
  describe(`the pages, ${variant}`, () => {
    let all: Map<string, string>
    let htmlPages: [string, string][]
    before(async () => {
      all = await make()
      htmlPages = [...all].filter(([, text]) => text.startsWith('<!doctype html>'))
    })

    test('each is at most 25 kB compressed, and so are scripts, style and index (C36.3)', () => {
      assert.equal(htmlPages.length, pages.length)
      for (const [name, text] of all)
        assert.ok(gzippedBytes(text) <= 25_000, `${name}: ${gzippedBytes(text)}`)
    })

    test('they load nothing from elsewhere and have no script or style of their own (C36.3)', () => {
      for (const [name, text] of htmlPages) {
        assert.doesNotMatch(text, /<style|<img|<script>|\son\w+=|\sstyle=|@import|url\(/, name)
        for (const [, address = ''] of text.matchAll(/<(?:script|link)[^>]* (?:src|href)="([^"]*)"/g))
          assert.ok(all.has(address), `${name} loads ${address}`)
      }
    })

    test('every link leads to a page and a place on it (C36.3)', () => {
      const idsOf = new Map(
        htmlPages.map(([name, text]) => [name, [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)]),
      )
      const entries: string[][] = JSON.parse(
        all.get(variant === 'served' ? '/docs/search.json' : 'search.json') ?? '',
      )
      const searched = entries.map(([href = '']) => ['search.json', href] as const)
      const linked = htmlPages.flatMap(([name, text]) =>
        [...text.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href = '']) => [name, href] as const),
      )
      assert.ok(linked.length > 1_000 && searched.length > 150)
      for (const [name, href] of [...linked, ...searched]) {
        if (href === '/openapi.json' || href.startsWith('https://')) continue
        const [page = '', id] = href.split('#')
        const ids = idsOf.get(page === '' ? name : page)
        assert.ok(ids !== undefined, `${name} links to ${href}`)
        if (id !== undefined) assert.ok(ids.includes(id), `${name} links to ${href}`)
      }
      for (const [name, ids] of idsOf) assert.equal(new Set(ids).size, ids.length, `${name} has an id twice`)
    })

    test('no sentence ends twice, and nothing is undefined (C36.3)', () => {
      for (const [name, text] of htmlPages) {
        const words = text.replace(/<pre[^>]*>[^<]*<\/pre>|<code>[^<]*<\/code>/g, '')
        assert.doesNotMatch(words, /[?.;]\.(?!\.)(?=[\s<])|undefined|\[object/, name)
      }
    })
  })

test('no mark of Markdown is left in what the guides show (C36.3)', async () => {
  for (const name of guideNames) {
    const { text } = (await documentationFile(name, 'svc')) ?? assert.fail(name)
    const words = text.replace(/<pre[^>]*>[^<]*<\/pre>|<code>[^<]*<\/code>/g, '')
    assert.doesNotMatch(words, /\*\*|```|^\||^#+ |\]\(/m, name)
  }
})

const rendered = (source: string): string => {
  const made: string[] = []
  const walk = (part: unknown): void => {
    if (Array.isArray(part)) for (const one of part) walk(one)
    else if (typeof part === 'object' && part !== null && 'text' in part) made.push(String(part.text))
    else if (typeof part === 'string') made.push(part)
  }
  walk(readGuide(source, target => target).body)
  return made.join('').replaceAll('\n', '')
}

const marks: { name: string; source: string; shown: string }[] = [
  {
    name: 'a list in a list',
    source: '- a\n  - b\n- c',
    shown: '<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>',
  },
  { name: 'a numbered list', source: '1. a\n2. b', shown: '<ol><li>a</li><li>b</li></ol>' },
  {
    name: 'code with marks in it',
    source: '`a **b** | <c>`',
    shown: '<p><code>a **b** | &lt;c&gt;</code></p>',
  },
  {
    name: 'strong words with code in them',
    source: '**a `b`**',
    shown: '<p><strong>a <code>b</code></strong></p>',
  },
  { name: 'a link', source: '[a `b`](c#d)', shown: '<p><a href="c#d">a <code>b</code></a></p>' },
  { name: 'names with underlines', source: 'a_b_c * d * e', shown: '<p>a_b_c * d * e</p>' },
  {
    name: 'a bar in a cell',
    source: '| a | b |\n|---|---|\n| `x \\| y` | z |',
    shown:
      '<table><thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead><tr><td><code>x | y</code></td><td>z</td></tr></table>',
  },
]

describe('Markdown', () => {
  for (const { name, source, shown } of marks)
    test(`${name} (C36.3)`, () => assert.equal(rendered(source), shown))
})
