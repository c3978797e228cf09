import type { Instant } from '../../domain/time/instant.ts'

/** The latest use of each key since uses were last stored. */
export type KeyUses = {
  note(hash: Uint8Array, at: Instant): void
  /** When the key was last used, given the last use in storage. */
  latest(hash: Uint8Array, stored: Instant | null): Instant | null
  take(): { hash: Uint8Array; at: Instant }[]
}

export const keyUses = (): KeyUses => {
  // Callers are cached, so a key nearly always comes with the same hash object. So hashes need not become text here.
  let uses = new Map<Uint8Array, Instant>()
  return {
    note: (hash, at) => {
      uses.set(hash, Math.max(at, uses.get(hash) ?? at))
    },
    latest: (hash, stored) => {
      let latest = stored
      for (const [other, at] of uses)
        if (Buffer.compare(hash, other) === 0) latest = Math.max(at, latest ?? at)
      return latest
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
