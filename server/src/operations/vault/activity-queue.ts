import type { Instant } from '../../domain/time/instant.ts'
import { monthOf } from '../../domain/time/month.ts'
import type { Token } from '../../domain/tokens/token.ts'
import type { Store } from '../../store/port.ts'
import { activeCounter } from './counters.ts'

/** C32: tokens that were returned for the first time this month and wait to be counted. A crash may lose a second of them. */
export type ActivityQueue = {
  note(tenantNumber: number, tokens: readonly Token[], now: Instant): void
  /** Called before a token is removed: if it was read, it counts, and afterwards no row is left to mark. */
  settle(tenantNumber: number, id: string): Promise<void>
  flush(): Promise<number>
}

const idsPerCommit = 500
/** Some 50 MB. While storage takes no writes, reads beyond these go uncounted instead of filling memory. */
const idsWaitingMax = 500_000

export const activityQueue = (store: Store): ActivityQueue => {
  const waiting = new Map<string, { tenantNumber: number; month: number; ids: Set<string> }>()
  let idsWaiting = 0
  let flushing: Promise<number> = Promise.resolve(0)

  /** An id leaves the queue only once it is stored, so a storage failure loses none. */
  const writeDown = async (): Promise<number> => {
    let marked = 0
    for (const [name, { tenantNumber, month, ids }] of waiting) {
      while (ids.size > 0) {
        const some = ids.values().take(idsPerCommit).toArray()
        await store.commit({
          tenant: tenantNumber,
          guarded: [],
          effects: [{ kind: 'markActive', ids: some, month, counter: activeCounter(month) }],
          counters: [],
        })
        for (const id of some) ids.delete(id)
        idsWaiting -= some.length
        marked += some.length
      }
      waiting.delete(name)
    }
    return marked
  }

  const flush = (): Promise<number> => {
    // One after the other: a caller that asks while a flush is under way also waits for what that flush took.
    flushing = flushing.then(writeDown, writeDown)
    return flushing
  }

  return {
    note: (tenantNumber, tokens, now) => {
      const month = monthOf(now)
      for (const { id, activeMonth } of tokens) {
        if (activeMonth >= month || idsWaiting >= idsWaitingMax) continue
        const name = `${tenantNumber}:${month}`
        const entry = waiting.get(name) ?? { tenantNumber, month, ids: new Set() }
        if (entry.ids.has(id)) continue
        entry.ids.add(id)
        idsWaiting++
        waiting.set(name, entry)
      }
    },
    settle: async (tenantNumber, id) => {
      const waits = waiting.values().some(entry => entry.tenantNumber === tenantNumber && entry.ids.has(id))
      if (waits) await flush()
    },
    flush,
  }
}
