import type { Instant } from '../domain/instant.ts'
import { monthOf } from '../domain/month.ts'
import type { Token } from '../domain/token.ts'
import type { Store } from '../store/port.ts'
import { activeCounter } from './counters.ts'

/** C32: tokens that were returned for the first time this month and wait to be counted; a crash may lose a second of them. */
export type ActivityQueue = {
  note(tenantNumber: number, tokens: readonly Token[], now: Instant): void
  flush(): Promise<number>
}

const idsPerCommit = 500

export const activityQueue = (store: Store): ActivityQueue => {
  let waiting = new Map<string, { tenantNumber: number; month: number; ids: Set<string> }>()
  return {
    note: (tenantNumber, tokens, now) => {
      const month = monthOf(now)
      for (const { id, activeMonth } of tokens) {
        if (activeMonth >= month) continue
        const name = `${tenantNumber}:${month}`
        const entry = waiting.get(name) ?? { tenantNumber, month, ids: new Set() }
        entry.ids.add(id)
        waiting.set(name, entry)
      }
    },
    flush: async () => {
      const taken = waiting
      waiting = new Map()
      let marked = 0
      for (const { tenantNumber, month, ids } of taken.values()) {
        const all = [...ids]
        for (let at = 0; at < all.length; at += idsPerCommit) {
          const some = all.slice(at, at + idsPerCommit)
          await store.commit({
            tenant: tenantNumber,
            guarded: [],
            effects: [{ kind: 'markActive', ids: some, month, counter: activeCounter(month) }],
            counters: [],
          })
          marked += some.length
        }
      }
      return marked
    },
  }
}
