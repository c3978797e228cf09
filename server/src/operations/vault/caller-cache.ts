import { hash } from 'node:crypto'
import { Memo } from '../../domain/memo.ts'

/** Remembers callers by a hash of their key, in memory only, and forgets all of them when any grant changes. */
export type CallerCache<Caller> = {
  get(name: string): Caller | undefined
  /**
   * The number of the tenant whose key it was when it was last looked up, whatever has changed since: good enough to know whose queue
   * a request joins, and for nothing else.
   */
  lastTenant(name: string): number | undefined
  /** `asOf` is the epoch from before the caller was read: a caller read while grants changed is not remembered. */
  set(name: string, caller: Caller, asOf: number): void
  /** `get` and `set` do this first. Without requests it must be called, or the keys of a deleted tenant stay in memory. */
  forgetIfChanged(): void
}

/** About 20 MiB. If more keys are in use, some are looked up again, at 0.1 ms each. */
const callersMax = 10_000

/**
 * A key is looked up under a plain hash, so no text of a key outlives its request in memory. It has 208 random bits, so nothing can be
 * guessed from the hash. This takes 1 µs, where the keyed hash that storage knows takes 4.
 */
export const apiKeyName = (keyText: string): string => hash('sha256', keyText)

/** Saves opening three sealed rows per request. */
export const callerCache = <Caller extends { readonly tenantNumber: number }>(
  epoch: () => number,
  /** The slice of work that is running. All requests in it had arrived before it began, so one look at the epoch serves all. */
  slice: () => number | undefined = () => undefined,
): CallerCache<Caller> => {
  const callers = new Memo<Caller>(callersMax)
  // Kept when grants change. Otherwise whoever changes grants again and again would make strangers of all others.
  const tenants = new Memo<number>(callersMax)
  let seen: number | undefined
  let seenIn: number | undefined
  const forgetIfChanged = (): void => {
    const current = slice()
    if (current !== undefined && current === seenIn) return
    const now = epoch()
    seenIn = current
    if (now === seen) return
    seen = now
    callers.clear()
  }
  return {
    forgetIfChanged,
    get: name => {
      forgetIfChanged()
      return callers.get(name)
    },
    lastTenant: name => tenants.get(name),
    set: (name, caller, asOf) => {
      tenants.set(name, caller.tenantNumber)
      forgetIfChanged()
      if (asOf === seen) callers.set(name, caller)
    },
  }
}
