import { openApi } from '../../contract/openapi.ts'
import { docsPage } from './docs-page.ts'

/** Makes each text once, because neither changes while the service runs. */
const oncePerPrefix = (make: (headerPrefix: string) => string): ((headerPrefix: string) => string) => {
  const made = new Map<string, string>()
  return headerPrefix => {
    const text = made.get(headerPrefix) ?? make(headerPrefix)
    made.set(headerPrefix, text)
    return text
  }
}

export const openApiText = oncePerPrefix(headerPrefix => `${JSON.stringify(openApi(headerPrefix))}\n`)

export const docsText = oncePerPrefix(headerPrefix => docsPage(openApi(headerPrefix)))
