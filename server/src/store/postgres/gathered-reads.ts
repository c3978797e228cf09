type Waiting<Key, Found> = {
  readonly key: Key
  readonly resolve: (found: Found | undefined) => void
  readonly reject: (error: unknown) => void
}

/** Reads for a tenant what several callers ask for. Answers in the order of the keys. */
type ReadAll<Key, Found> = (tenant: number, keys: readonly Key[]) => Promise<readonly (Found | undefined)[]>

/** The most that one statement reads, so that it stays light for those behind it on its connection (read-pool.ts). */
const keysMax = 64

/**
 * Reads of a tenant that are asked for without a pause between them become one statement. Requests that wait together advance
 * together (docs/decisions/0021), so under load most reads by key meet others, and sending a statement and having it answered costs
 * several times what finding a row does. Other tenants' reads are never in the same statement: it would take as long as theirs.
 */
export class GatheredReads<Key, Found> {
  readonly #readAll: ReadAll<Key, Found>
  readonly #waiting = new Map<number, Waiting<Key, Found>[]>()

  constructor(readAll: ReadAll<Key, Found>) {
    this.#readAll = readAll
  }

  read(tenant: number, key: Key): Promise<Found | undefined> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(tenant)
      if (waiting === undefined) {
        this.#waiting.set(tenant, [{ key, resolve, reject }])
        process.nextTick(() => this.#send(tenant))
        return
      }
      waiting.push({ key, resolve, reject })
      if (waiting.length === keysMax) this.#send(tenant)
    })
  }

  async #send(tenant: number): Promise<void> {
    const waiting = this.#waiting.get(tenant) ?? []
    this.#waiting.delete(tenant)
    if (waiting.length === 0) return
    try {
      const found = await this.#readAll(
        tenant,
        waiting.map(({ key }) => key),
      )
      waiting.forEach(({ resolve }, index) => {
        resolve(found[index])
      })
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }
}
