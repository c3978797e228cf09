/**
 * A read that is expected to take longer is not light. An answer may wait as long as a slice of the event loop before it is seen, so
 * this is longer than a slice.
 */
export const lightMs = 10
/** What is expected of a read that may be anything. */
export const unknownMs = 2 * lightMs
/** A read is never free. */
const leastMs = 0.05
/** How often it is noted that the event loop goes round, at most. */
const roundMs = 2
/** How many statements, and how many tenants with slow reads, are remembered. */
const rememberedMax = 10_000

/**
 * How long the server is expected to take for a read: as long as the tenant's earlier reads of the statement if these were slow,
 * otherwise as long as those of everybody else. A statement that nobody has sent before is taken for slow.
 */
export class ReadCosts {
  readonly #usual = new Map<string, number>()
  /** By tenant, statements that were slow for it. */
  readonly #slow = new Map<number, Map<string, number>>()

  expected(tenant: number, name: string | undefined): number {
    if (name === undefined) return unknownMs
    return this.#slow.get(tenant)?.get(name) ?? this.#usual.get(name) ?? unknownMs
  }

  learn(tenant: number, name: string | undefined, ms: number): void {
    if (name === undefined) return
    const slow = this.#slow.get(tenant)
    const own = slow?.get(name)
    const usual = this.#usual.get(name)
    const before = own ?? usual ?? Math.max(leastMs, Math.min(ms, lightMs))
    // Rises by a factor of four at most, because the machine may have been busy with something else.
    const now = ms > before ? Math.min(ms, 4 * before) : Math.max(leastMs, 0.7 * before + 0.3 * ms)
    if (now > lightMs) remember(slow ?? this.#slowOf(tenant), name, now)
    else if (own === undefined)
      remember(this.#usual, name, usual === undefined ? now : 0.9 * usual + 0.1 * now)
    else if (slow?.delete(name) === true && slow.size === 0) this.#slow.delete(tenant)
  }

  #slowOf(tenant: number): Map<string, number> {
    const slow = new Map<string, number>()
    remember(this.#slow, tenant, slow)
    return slow
  }
}

/**
 * How long the server took, as far as can be told on a busy machine: an answer is seen once the event loop comes round to it, and
 * may have been there since the round before. Runs while reads are under way.
 */
export class ReadTimer {
  #rounds: NodeJS.Timeout | undefined
  #last = Number.NEGATIVE_INFINITY
  #before = Number.NEGATIVE_INFINITY

  /** `isNeeded` is asked in each round. */
  start(isNeeded: () => boolean): void {
    this.#rounds ??= setInterval(() => {
      this.#before = this.#last
      this.#last = performance.now()
      if (!isNeeded()) this.stop()
    }, roundMs).unref()
  }

  stop(): void {
    clearInterval(this.#rounds)
    this.#rounds = undefined
  }

  /** For an answer that is seen now. */
  since(begun: number): number {
    const ms = performance.now() - begun
    return ms <= lightMs ? ms : Math.max(0, this.#before - begun)
  }
}

const remember = <Key, Value>(known: Map<Key, Value>, key: Key, value: Value): void => {
  const [oldest] = known.keys()
  if (oldest !== undefined && known.size >= rememberedMax && !known.has(key)) known.delete(oldest)
  known.set(key, value)
}
