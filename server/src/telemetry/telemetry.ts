import { commitFamilies, writerFamilies } from './families.ts'
import { type Dimensions, type Family, Meters, type Snapshot } from './meters.ts'

export type CommitMeters = Meters<keyof typeof commitFamilies>
export type WriterMeters = Meters<keyof typeof writerFamilies>

/** All that one process counts. Storage is opened before anything else, so its meters are there from the start. */
export class Telemetry {
  readonly commits: CommitMeters
  /** A thread counts here. */
  readonly writer: WriterMeters
  readonly #all: Meters<string>[] = []
  readonly #looks: (() => void)[] = []

  constructor() {
    this.commits = this.add(commitFamilies)
    this.writer = writerMeters()
    this.#all.push(this.writer)
  }

  add<Name extends string>(families: Readonly<Record<Name, Family>>, dimensions?: Dimensions): Meters<Name> {
    const meters = new Meters(families, dimensions)
    this.#all.push(meters)
    return meters
  }

  /** Called before each snapshot, to read what nobody counts. */
  beforeEach(look: () => void): void {
    this.#looks.push(look)
  }

  snapshots(): Snapshot[] {
    for (const look of this.#looks) look()
    // A copy, which the counting does not change any more.
    return this.#all.map(({ layout, values }) => ({ layout, values: values.slice() }))
  }
}

/** The writer's thread gets the buffer; without one, it is made. */
export const writerMeters = (buffer?: SharedArrayBuffer): WriterMeters =>
  new Meters(writerFamilies, {}, buffer === undefined ? { isShared: true } : { buffer })
