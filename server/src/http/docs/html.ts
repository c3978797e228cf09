/** Text that is HTML already. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** What a template may contain. Lists are joined; `undefined` and `false` leave nothing. */
export type Part = Html | string | number | false | undefined | readonly Part[]

/** Escapes every inserted value that is not HTML already. */
export const html = (texts: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(String.raw({ raw: texts }, ...parts.map(toText)))

const toText = (part: Part): string => {
  if (part === undefined || part === false) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part))
  return part.map(toText).join('')
}

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
