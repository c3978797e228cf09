import { Connection, type ConnectionSettings } from './connection.ts'

/** How often the epoch is read, and how long after a reading was asked for it may be relied on. */
const pollMs = 250
const trustMs = 800
/** A server that takes this long over so little is taken for gone. */
const silenceMaxMs = 3_000

/**
 * Whether grants may have changed, known without asking storage (C27). A notification tells it at once, a reading
 * every quarter of a second tells it for sure. Once no reading has come for a while, every call of `epoch` gives
 * another number, so that nothing cached is used.
 */
export class GrantsWatch {
  readonly #connection: Connection
  readonly #onSilence: () => void
  #epoch = 0
  #stored: number | undefined
  #heardAt = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  /** `onSilence`: the server does not answer any more, and has not closed the connection either. */
  constructor(settings: ConnectionSettings, onSilence: () => void) {
    this.#onSilence = onSilence
    this.#connection = new Connection(settings, async client => {
      client.on('notification', () => this.changed())
      await client.query('LISTEN strongroom_grants')
      // What happened before is not told. The next reading would not show it where storage was set back and went on.
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

  /** Something changed, here or as far as was heard. */
  changed(): void {
    this.#epoch++
  }

  abandon(): void {
    this.#connection.abandon()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#connection.close()
  }

  async #poll(): Promise<void> {
    const askedAt = performance.now()
    // Opening a connection has a limit of its own.
    const silence = this.#connection.isOpen ? setTimeout(this.#onSilence, silenceMaxMs) : undefined
    try {
      const { rows } = await this.#connection.query({
        name: 'grants-epoch',
        text: 'SELECT epoch FROM grants_epoch WHERE id = 1',
      })
      const stored = Number(rows[0]?.epoch)
      // The next change of a number that no double holds may look the same.
      if (stored !== this.#stored || !Number.isSafeInteger(stored)) this.changed()
      this.#stored = stored
      this.#heardAt = askedAt
    } catch {
      // Nothing was heard; what that means, `epoch` decides.
    } finally {
      clearTimeout(silence)
    }
    if (this.#isClosed) return
    this.#timer = setTimeout(() => void this.#poll(), pollMs)
    this.#timer.unref()
  }
}
