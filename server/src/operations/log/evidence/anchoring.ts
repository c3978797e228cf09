import { NoteError } from '../../../crypto/signed-note.ts'
import { describeError, type Log } from '../../../domain/log.ts'
import type { Anchor } from '../../../store/anchor.ts'
import type { LogCheckpointRow } from '../../../store/rows.ts'
import { type Evidence, NotAnchoredError } from './evidence.ts'

/** `stopped`: it holds what is not our past, so nothing is appended to it any more. `failing`: it could not be written the last time. */
export type AnchorState = 'good' | 'failing' | 'stopped'

type Line = { readonly anchor: Anchor; state: AnchorState; busy: Promise<void> | undefined }

/** Brings checkpoints to the anchors. A dead or full anchor harms no request, and holds up no other. */
export class Anchoring {
  readonly #evidence: Evidence
  readonly #log: Pick<Log, 'error'>
  readonly #lines: readonly Line[]
  #newest: LogCheckpointRow | undefined

  constructor(evidence: Evidence, anchors: readonly Anchor[], log: Pick<Log, 'error'>) {
    this.#evidence = evidence
    this.#log = log
    this.#lines = anchors.map(anchor => ({ anchor, state: 'good', busy: undefined }))
  }

  get anchors(): readonly Anchor[] {
    return this.#lines.map(({ anchor }) => anchor)
  }

  /** The worst of all; undefined if there are none. */
  get state(): AnchorState | undefined {
    const states = this.#lines.map(({ state }) => state)
    return (['stopped', 'failing', 'good'] as const).find(state => states.includes(state))
  }

  /**
   * Throws if storage lacks an anchor's newest checkpoint (L4). An anchor that cannot be read is no reason to serve nobody; `state`
   * says so.
   */
  async requireOurs(): Promise<void> {
    for (const line of this.#lines) {
      const { anchor } = line
      const newest = await anchor.newest().catch(error => {
        line.state = 'failing'
        this.#log.error({ anchor: anchor.name, ...describeError(error) }, 'an anchor could not be read')
        return undefined
      })
      if (newest !== undefined) await this.#evidence.requirePast(anchor, newest)
    }
  }

  /** Whether storage lacks what an anchor holds because it is older. Throws if no command can make that good. */
  async isRolledBack(): Promise<boolean> {
    try {
      await this.requireOurs()
      return false
    } catch (error) {
      if (error instanceof NotAnchoredError && error.acceptableAt !== undefined) return true
      throw error
    }
  }

  /** Appends the checkpoint where an earlier one is not still on its way; the next one follows then. */
  offer(checkpoint: LogCheckpointRow): void {
    this.#newest = checkpoint
    for (const line of this.#lines)
      if (line.state !== 'stopped')
        line.busy ??= this.#bring(line).finally(() => {
          line.busy = undefined
        })
  }

  /** Resolves once what was offered is anchored, or has failed. */
  async settled(): Promise<void> {
    await Promise.all(this.#lines.map(({ busy }) => busy))
  }

  async #bring(line: Line): Promise<void> {
    const { anchor } = line
    try {
      for (let brought: LogCheckpointRow | undefined; this.#newest !== brought; ) {
        brought = this.#newest
        if (brought === undefined || (await this.#evidence.anchor(anchor, brought))) continue
        line.state = 'stopped'
        this.#log.error({ anchor: anchor.name }, 'an anchor holds what is not our past: anchoring stops')
        return
      }
      line.state = 'good'
    } catch (error) {
      const isForeign = error instanceof NoteError
      line.state = isForeign ? 'stopped' : 'failing'
      this.#log.error(
        { anchor: anchor.name, ...describeError(error) },
        isForeign
          ? 'an anchor holds what we have not signed: anchoring stops'
          : 'an anchor could not be written',
      )
    }
  }
}
