import type { Caller } from '../operations/vault/vault.ts'
import type { Answer } from './call.ts'

/**
 * A page that the same caller asks for several times at the same moment is made once, as when all servers of a shop start again
 * and ask for the newest tokens. Before that, each request was admitted by itself.
 */
export type SharedPages = {
  /** `request`: everything that the page depends on, besides the caller. */
  page(caller: Caller, request: string, make: () => Promise<Answer>): Promise<Answer>
}

/** A page whose making has begun at this moment. */
type Begun = { readonly caller: Caller; readonly request: string; readonly page: Promise<Answer> }

/**
 * Only requests that go on in the same step (`loop-turns.ts`) share: all of them had arrived before the first of them began to
 * read, so none is shown storage as it was before that request (C27). Nothing is kept beyond the step. A caller is the same if it
 * is the same object, with the same key, and with grants as they were a moment ago.
 */
export const sharedPages = (): SharedPages => {
  let begun: Begun[] = []
  return {
    page: (caller, request, make) => {
      const same = begun.find(other => other.caller === caller && other.request === request)
      if (same !== undefined) return same.page
      if (begun.length === 0)
        process.nextTick(() => {
          begun = []
        })
      const page = make()
      begun.push({ caller, request, page })
      return page
    },
  }
}
