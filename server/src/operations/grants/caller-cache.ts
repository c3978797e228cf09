/** Remembers callers by their key, in memory only, and forgets all of them when any grant has changed. */
export type CallerCache<Caller> = {
  get(keyText: string): Caller | undefined
  /** `asOf` is the epoch before the caller was read: one that was read across a change is not remembered. */
  set(keyText: string, caller: Caller, asOf: number): void
}

const callersMax = 1_000

/** Saves opening three sealed rows per request. Full, it drops everything: keys in use are back at once. */
export const callerCache = <Caller>(epoch: () => number): CallerCache<Caller> => {
  const callers = new Map<string, Caller>()
  let seen: number | undefined
  const forgetIfChanged = (): void => {
    const now = epoch()
    if (now === seen) return
    seen = now
    callers.clear()
  }
  return {
    get: keyText => {
      forgetIfChanged()
      return callers.get(keyText)
    },
    set: (keyText, caller, asOf) => {
      forgetIfChanged()
      if (asOf !== seen) return
      if (callers.size >= callersMax) callers.clear()
      callers.set(keyText, caller)
    },
  }
}
