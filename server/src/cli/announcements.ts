/** Somebody who is told, and says when they have heard. */
export type Listener = { send(message: Announcement): unknown }
export type Announcement = { readonly announcement: number }

/** A process that has not heard by then hangs, and when it goes on, what it remembers is too old to be trusted. */
const hearMaxMs = 1_000

/** News for several processes, of which the teller learns that all have heard it. */
export class Announcements {
  readonly #awaited = new Map<number, { readonly listeners: Set<Listener>; readonly done: () => void }>()
  #last = 0

  /** Resolves once all of these have heard, or are gone. */
  tell(listeners: readonly Listener[]): Promise<void> {
    const announcement = ++this.#last
    return new Promise(resolve => {
      const timer = setTimeout(() => this.#finish(announcement), hearMaxMs)
      const done = (): void => {
        clearTimeout(timer)
        resolve()
      }
      this.#awaited.set(announcement, { listeners: new Set(listeners), done })
      for (const listener of listeners) listener.send({ announcement })
      if (listeners.length === 0) this.#finish(announcement)
    })
  }

  heard(announcement: number, listener: Listener): void {
    const awaited = this.#awaited.get(announcement)
    awaited?.listeners.delete(listener)
    if (awaited?.listeners.size === 0) this.#finish(announcement)
  }

  left(listener: Listener): void {
    for (const announcement of this.#awaited.keys()) this.heard(announcement, listener)
  }

  #finish(announcement: number): void {
    const awaited = this.#awaited.get(announcement)
    this.#awaited.delete(announcement)
    awaited?.done()
  }
}
