import type { QueryPair } from '../contract/query-pairs.ts'
import { invalid } from '../domain/errors.ts'

/** The query string as the pairs that were sent, in their order; `+` is a space, as in forms. */
export const readQuery = (url: string): QueryPair[] => {
  const start = url.indexOf('?')
  if (start === -1 || start === url.length - 1) return []
  return url
    .slice(start + 1)
    .split('&')
    .filter(part => part !== '')
    .map(part => {
      const equals = part.indexOf('=')
      return equals === -1
        ? { name: decode(part), value: '' }
        : { name: decode(part.slice(0, equals)), value: decode(part.slice(equals + 1)) }
    })
}

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalid({ path: '$', message: 'the query string is not valid percent-encoded UTF-8' })
  }
}
