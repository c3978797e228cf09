/** A process that receives announcements and confirms each one. */
export type Listener = { send(message: Announcement): unknown }
export type Announcement = { readonly announcement: number }

/**
 * A process that has not confirmed by then is busy or hangs. When it continues, its memory is older than it may rely on
 * (`trustMs` in store/postgres/grants-watch.ts).
 */
export const hearMaxMs = 1_000

/** Announces news to several processes and tells the sender when all have heard it. */
export class Announcements {
  readonly #awaited = new Map<number, { readonly listeners: Set<Listener>; readonly done: () => void }>()
  #last = 0

  /** Resolves once all listeners have heard or are gone, after `hearMaxMs` at the latest. */
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
