/** Remembers callers by the hash of their key, and forgets all of them when any grant has changed. */
export type CallerCache<T> = {
  get(keyName: string): T | undefined
  /** `asOf` is the epoch before the caller was read: one that was read across a change is not remembered. */
  set(keyName: string, caller: T, asOf: number): void
  clear(): void
}

const callersMax = 1_000

/** Saves opening three sealed rows per request. Full, it drops everything: keys in use are back at once. */
export const callerCache = <T>(epoch: () => number): CallerCache<T> => {
  const callers = new Map<string, T>()
  let seen: number | undefined
  const forgetIfChanged = (): void => {
    const now = epoch()
    if (now === seen) return
    seen = now
    callers.clear()
  }
  return {
    get: keyName => {
      forgetIfChanged()
      return callers.get(keyName)
    },
    set: (keyName, caller, asOf) => {
      forgetIfChanged()
      if (asOf !== seen) return
      if (callers.size >= callersMax) callers.clear()
      callers.set(keyName, caller)
    },
    clear: () => callers.clear(),
  }
}
