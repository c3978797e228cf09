import { type Instant, monthOf } from '../../domain/time/instant.ts'
import type { Token } from '../../domain/tokens/token.ts'
import type { Store } from '../../store/port.ts'
import { activeCounter } from './counters.ts'

/**
 * C32: tokens that were returned for the first time this month and are not counted yet. A crash may lose those of one second.
 */
export type ActivityQueue = {
  note(tenantNumber: number, tokens: readonly Token[], now: Instant): void
  /** Called before a token is removed. If it was read, it counts, and afterwards no row is left to mark. */
  settle(tenantNumber: number, id: string): Promise<void>
  /** Counts the tokens of one tenant, or of all. If storage refuses some, the others are counted first. */
  flush(tenantNumber?: number): Promise<number>
}

type UncountedTokens = { readonly tenantNumber: number; readonly month: number; readonly ids: Set<string> }

const idsPerCommit = 500
/** About 50 MB. While storage takes no writes, further reads go uncounted instead of filling memory. */
const idsWaitingMax = 500_000

export const activityQueue = (store: Store): ActivityQueue => {
  const waiting = new Map<string, UncountedTokens>()
  let idsWaiting = 0
  /** The latest flush of each tenant. */
  const flushing = new Map<number, Promise<number>>()

  const mark = (tenant: number, month: number, ids: readonly string[]): Promise<unknown> =>
    store.commit({
      tenant,
      guarded: [],
      effects: [{ kind: 'markActive', ids, month, counter: activeCounter(month) }],
      counters: [],
      log: null,
    })

  /** Removes ids from the queue once they are stored, so a storage failure loses none. Returns how many were removed. */
  const forget = (ids: Set<string>, stored: readonly string[]): number => {
    const gone = stored.filter(id => ids.delete(id)).length
    idsWaiting -= gone
    return gone
  }

  const writeDown = async (tenantNumber: number): Promise<number> => {
    let marked = 0
    for (const [name, { tenantNumber: owner, month, ids }] of waiting) {
      if (owner !== tenantNumber) continue
      while (ids.size > 0) {
        const some = ids.values().take(idsPerCommit).toArray()
        await mark(tenantNumber, month, some)
        marked += forget(ids, some)
      }
      waiting.delete(name)
    }
    return marked
  }

  /** Flushes one after another. A caller that asks during a flush waits for that flush, too. */
  const flushOne = (tenantNumber: number): Promise<number> => {
    const write = (): Promise<number> => writeDown(tenantNumber)
    const next = (flushing.get(tenantNumber) ?? Promise.resolve(0)).then(write, write)
    flushing.set(tenantNumber, next)
    const over = (): void => {
      if (flushing.get(tenantNumber) === next) flushing.delete(tenantNumber)
    }
    next.then(over, over)
    return next
  }

  /** Flushes all tenants at once, so that a tenant with a locked row keeps no other waiting. */
  const flushAll = async (): Promise<number> => {
    const tenants = new Set(flushing.keys())
    for (const { tenantNumber } of waiting.values()) tenants.add(tenantNumber)
    const outcomes = await Promise.allSettled([...tenants].map(flushOne))
    const failed = outcomes.find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
    return outcomes.reduce((sum, outcome) => sum + (outcome.status === 'fulfilled' ? outcome.value : 0), 0)
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
      // Alone, because other tokens of the tenant may have to wait for a lock. If a flush in progress takes the id too, it is not
      // counted twice.
      for (const { tenantNumber: owner, month, ids } of [...waiting.values()]) {
        if (owner !== tenantNumber || !ids.has(id)) continue
        await mark(tenantNumber, month, [id])
        forget(ids, [id])
      }
    },
    flush: tenantNumber => (tenantNumber === undefined ? flushAll() : flushOne(tenantNumber)),
  }
}
