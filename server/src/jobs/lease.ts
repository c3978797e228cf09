import type { Instant } from '../domain/time/instant.ts'
import type { Store } from '../store/port.ts'

/** The right to do what only one node should do at a time. */
export type Lease = {
  /** Takes or renews it; false while another node holds it. */
  hold(): Promise<boolean>
  /** Lets the next node take it at once. Harmless if another node holds it. */
  release(): Promise<void>
}

/** The leases of one node. */
export type Leases = {
  on(name: string): Lease
  /** Gives up all leases of the node in one write, because a stopping server may have to wait for storage. */
  releaseAll(): Promise<void>
}

/** Kept in storage, so a lease ends by itself when its holder has died. */
export const leases = (
  store: Store,
  { holder, lengthMs, clock }: { holder: string; lengthMs: number; clock: () => Instant },
): Leases => {
  const held = new Set<string>()
  const release = async (names: readonly string[]): Promise<void> => {
    if (names.length > 0) await store.releaseLeases(holder, names)
    for (const name of names) held.delete(name)
  }
  return {
    on: name => ({
      hold: async () => {
        const now = clock()
        // Noted before the request: the lease may be ours even if the answer is lost.
        held.add(name)
        const isOurs = await store.acquireLease({ name, holder, until: now + lengthMs }, now)
        if (!isOurs) held.delete(name)
        return isOurs
      },
      release: () => release([name]),
    }),
    releaseAll: () => release([...held]),
  }
}
