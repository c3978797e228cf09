/**
 * Where checkpoints are kept out of reach of whoever can write storage: one signed note after another. It is read again before each
 * is appended, so that nothing is appended to what is not our past.
 */
export type Anchor = {
  /** What it is called in messages. */
  readonly name: string
  /** The last whole note, or undefined if there is none yet. */
  newest(): Promise<string | undefined>
  /** Returns once the note is durable. An incomplete note at the end is replaced. */
  append(note: string): Promise<void>
}
