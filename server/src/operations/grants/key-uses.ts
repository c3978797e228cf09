import type { Instant } from '../../domain/instant.ts'

/** The latest use of each key since it was last written down. */
export type KeyUses = {
  note(hash: Uint8Array, at: Instant): void
  take(): { hash: Uint8Array; at: Instant }[]
}

export const keyUses = (): KeyUses => {
  // Callers are cached, so the same hash object stands for the same key.
  let uses = new Map<Uint8Array, Instant>()
  return {
    note: (hash, at) => {
      uses.set(hash, at)
    },
    take: () => {
      const taken = [...uses].map(([hash, at]) => ({ hash, at }))
      uses = new Map()
      return taken
    },
  }
}
