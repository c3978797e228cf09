import type { ConnectionSettings } from './client-config.ts'
import { Connection } from './connection.ts'

/**
 * How often the epoch is read, and how long a reading may be relied on, counted from when it was asked for: less than an answer to a
 * change of grants waits for a neighbour that does not confirm (cli/workers/announcements.ts).
 */
const pollMs = 250
export const trustMs = 800
/** A server that takes this long for such a small query is considered gone. */
const silenceMaxMs = 3_000

/**
 * Knows without asking storage whether grants may have changed (C27). A notification tells it at once, and a reading
 * every quarter of a second tells it for sure. Once no reading has come for a while, every call of `epoch` returns a
 * new number, so that nothing cached is used.
 */
export class GrantsWatch {
  readonly #connection: Connection
  readonly #onSilence: () => void
  #epoch = 0
  #stored: number | undefined
  #heardAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  /** `onSilence`: the server no longer answers, but has not closed the connection either. */
  constructor(settings: ConnectionSettings, onSilence: () => void) {
    this.#onSilence = onSilence
    this.#connection = new Connection(settings, async client => {
      client.on('notification', () => this.changed())
      await client.query('LISTEN strongroom_grants')
      // Earlier changes were not announced to this connection. The next reading may miss them too, if storage was set
      // back and its epoch has since grown to the same number.
      this.changed()
    })
  }

  async start(): Promise<void> {
    await this.#poll()
  }

  epoch(): number {
    if (performance.now() - this.#heardAt > trustMs) this.#epoch++
    return this.#epoch
  }

  /** Grants changed, through this process or as announced by another. */
  changed(): void {
    this.#epoch++
  }

  /** After a change of servers, what the last one said may not hold on the next, even if the epoch is the same. */
  abandon(): void {
    this.#connection.abandon()
    this.changed()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#connection.close()
  }

  async #poll(): Promise<void> {
    const askedAt = performance.now()
    // Opening a connection has its own timeout.
    const silence = this.#connection.isOpen ? setTimeout(this.#onSilence, silenceMaxMs) : undefined
    try {
      const { rows } = await this.#connection.query({
        name: 'grants-epoch',
        text: 'SELECT epoch FROM grants_epoch WHERE id = 1',
      })
      const stored = Number(rows[0]?.epoch)
      // The next change of a number too large for a double may look the same.
      if (stored !== this.#stored || !Number.isSafeInteger(stored)) this.changed()
      this.#stored = stored
      this.#heardAt = askedAt
    } catch {
      // Nothing was heard. `epoch` decides what that means.
    } finally {
      clearTimeout(silence)
    }
    if (this.#isClosed) return
    this.#timer = setTimeout(() => void this.#poll(), pollMs)
    this.#timer.unref()
  }
}
