import { type Material, pages } from './pages.ts'

/** What the page's own search reads: where, what it is called, on which page, and the words of it. */
type Entry = readonly [href: string, title: string, page: string, words: string]

/** Words that are everywhere find nothing. */
const common = new Set(
  'a an and are as at be but by can do does for from get gets has have if in into is it its no not of on one only or so than that the them then there they this to what when where which who with you your'.split(
    ' ',
  ),
)

export const searchIndex = (material: Material): readonly Entry[] =>
  pages.flatMap(page =>
    page.findable(material).map(({ id, title, text }): Entry => {
      const place = id === '' ? page.name : `${page.name}#${id}`
      return [material.links.to(place), title, page.title, wordsOf(text)]
    }),
  )

const wordsOf = (text: string): string =>
  [...new Set(text.toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu))].filter(word => !common.has(word)).join(' ')
