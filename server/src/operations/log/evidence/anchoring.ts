import { NoteError } from '../../../crypto/signed-note.ts'
import { describeError, type Log } from '../../../domain/log.ts'
import type { Anchor } from '../../../store/anchor.ts'
import type { LogCheckpointRow } from '../../../store/rows.ts'
import { type Evidence, NotAnchoredError } from './evidence.ts'

/** `stopped`: it holds what is not our past, so nothing is appended to it any more. `failing`: it could not be written the last time. */
export type AnchorState = 'good' | 'failing' | 'stopped'

type Line = {
  readonly anchor: Anchor
  state: AnchorState
  busy: Promise<void> | undefined
  /** The size of its newest checkpoint, as far as this process has seen. */
  size: number | undefined
}

/** How often a process looks what anchors hold: others may write them. */
const lookMs = 10_000

/** Brings checkpoints to the anchors. A dead or full anchor harms no request, and holds up no other. */
export class Anchoring {
  readonly #evidence: Evidence
  readonly #log: Pick<Log, 'error'>
  readonly #lines: readonly Line[]
  #newest: LogCheckpointRow | undefined
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(evidence: Evidence, anchors: readonly Anchor[], log: Pick<Log, 'error'>) {
    this.#evidence = evidence
    this.#log = log
    this.#lines = anchors.map(anchor => ({ anchor, state: 'good', busy: undefined, size: undefined }))
  }

  get anchors(): readonly Anchor[] {
    return this.#lines.map(({ anchor }) => anchor)
  }

  /** The sizes of their newest checkpoints, which every export must have. */
  get sizes(): readonly number[] {
    return this.#lines.flatMap(({ size }) => (size === undefined ? [] : [size]))
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
      if (newest === undefined) continue
      await this.#evidence.requirePast(anchor, newest)
      line.size = this.#evidence.sizeOf(newest)
    }
  }

  /**
   * Sees from time to time what others have brought to the anchors, or failed to: every process says in /ready how they are. What was
   * signed a while ago and is not there is brought.
   */
  look(): void {
    if (this.#lines.length === 0 || performance.now() - this.#lookedAt < lookMs) return
    this.#lookedAt = performance.now()
    for (const line of this.#lines)
      if (line.state !== 'stopped')
        line.busy ??= this.#look(line).finally(() => {
          line.busy = undefined
        })
  }

  async #look(line: Line): Promise<void> {
    try {
      const note = await line.anchor.newest()
      const late = await this.#evidence.lateFor(note, lookMs)
      if (late === undefined && note === undefined) return
      if (note !== undefined && late === undefined && (await this.#evidence.isOurPast(note))) {
        line.size = this.#evidence.sizeOf(note)
        line.state = 'good'
        return
      }
      this.#newest ??= late
      if (late !== undefined && this.#newest !== undefined && late.size > this.#newest.size)
        this.#newest = late
    } catch (error) {
      this.#failed(line, error)
      return
    }
    await this.#bring(line)
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
        if (brought === undefined) continue
        if (await this.#evidence.anchor(anchor, brought)) {
          line.size = brought.size
          continue
        }
        line.state = 'stopped'
        this.#log.error({ anchor: anchor.name }, 'an anchor holds what is not our past: anchoring stops')
        return
      }
      line.state = 'good'
    } catch (error) {
      this.#failed(line, error)
    }
  }

  #failed(line: Line, error: unknown): void {
    const isForeign = error instanceof NoteError
    line.state = isForeign ? 'stopped' : 'failing'
    this.#log.error(
      { anchor: line.anchor.name, ...describeError(error) },
      isForeign
        ? 'an anchor holds what we have not signed: anchoring stops'
        : 'an anchor could not be written',
    )
  }
}
