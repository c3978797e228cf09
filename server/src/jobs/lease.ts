import type { Instant } from '../domain/time/instant.ts'
import type { Store } from '../store/port.ts'

/** The right to do what only one node should do at a time. */
export type Lease = {
  /** Takes or renews it; false while another node holds it. */
  hold(): Promise<boolean>
  /** Lets the next node take it at once. Harmless if another node holds it. */
  release(): Promise<void>
}

/** Kept in storage, so it ends by itself when its holder has died. */
export const lease = (
  store: Store,
  { name, holder, lengthMs, clock }: { name: string; holder: string; lengthMs: number; clock: () => Instant },
): Lease => ({
  hold: () => {
    const now = clock()
    return store.acquireLease({ name, holder, until: now + lengthMs }, now)
  },
  release: () => store.releaseLease({ name, holder }),
})
