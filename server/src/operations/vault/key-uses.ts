import type { Instant } from '../../domain/time/instant.ts'

/** The latest use of each key since it was last written down. */
export type KeyUses = {
  note(hash: Uint8Array, at: Instant): void
  take(): { hash: Uint8Array; at: Instant }[]
}

export const keyUses = (): KeyUses => {
  // Callers are cached, so the same hash object nearly always stands for the same key, and no text need be made of it here.
  let uses = new Map<Uint8Array, Instant>()
  return {
    note: (hash, at) => {
      uses.set(hash, Math.max(at, uses.get(hash) ?? at))
    },
    take: () => {
      const latest = new Map<string, { hash: Uint8Array; at: Instant }>()
      for (const [hash, at] of uses) {
        const name = Buffer.from(hash).toString('latin1')
        if (at >= (latest.get(name)?.at ?? at)) latest.set(name, { hash, at })
      }
      uses = new Map()
      return [...latest.values()]
    },
  }
}
