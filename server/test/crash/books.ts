import assert from 'node:assert/strict'

/** The number written into every part of a thing, used by no other write; `undefined` if the thing does not exist. */
export type State = number | undefined

/** How to reach a thing, as learnt from an answer or a list. */
export type Place = { readonly id: string; readonly type?: string; readonly within?: string }

/**
 * What must be in the vault. Each thing (a token, an application, a key, the tenant) has its own name. An answered
 * write leaves one possible state; one whose answer was lost leaves two, until the vault is inspected.
 */
export class Books {
  readonly #states = new Map<string, readonly State[]>()
  /** Unanswered writes of several things: all of them happened, or none. */
  readonly #together = new Map<readonly string[], State>()
  /** Things that existed at some time, and things of which that will never be known. */
  readonly #made = new Set<string>()
  readonly #doubtful = new Set<string>()
  readonly places = new Map<string, Place>()
  #last = 0

  /** A number that no write has used. */
  next(): number {
    return ++this.#last
  }

  /** Called before the request leaves: from now on both states are possible. */
  begin(names: readonly string[], to: State): void {
    for (const name of names) this.#states.set(name, [...(this.#states.get(name) ?? [undefined]), to])
    if (names.length > 1) this.#together.set(names, to)
  }

  /** The answer came: only the new state is possible. */
  settle(names: readonly string[], to: State): void {
    this.#together.delete(names)
    for (const name of names) this.#set(name, to)
  }

  /** Things that have expired, whether they existed or not. */
  lapse(isOver: (name: string) => boolean): void {
    for (const [name, states] of this.#states)
      if (isOver(name)) {
        if (states.length > 1 && !this.#made.has(name)) this.#doubtful.add(name)
        this.#set(name, undefined)
      }
  }

  /** Compares what exists with what may exist. From then on, what exists is what must exist. */
  compare(seen: ReadonlyMap<string, number>): void {
    for (const name of seen.keys()) assert.ok(this.#states.has(name), `${name} was never written`)
    for (const [name, states] of this.#states) {
      const state = seen.get(name)
      assert.ok(
        states.includes(state),
        `${name} is ${told(state)}, and must be ${[...new Set(states)].map(told).join(' or ')}`,
      )
    }
    for (const [names, to] of this.#together) {
      const happened = names.filter(name => seen.get(name) === to)
      assert.ok(
        happened.length === 0 || happened.length === names.length,
        `only ${happened} of ${names} happened`,
      )
    }
    this.#together.clear()
    for (const name of [...this.#states.keys()]) this.#set(name, seen.get(name))
  }

  /** Whether a write certainly happened, or certainly did not; undefined if that is not known. */
  happened(names: readonly string[], to: State): boolean | undefined {
    const states = names.map(name => this.#states.get(name) ?? [undefined])
    if (states.some(({ length }) => length > 1)) return undefined
    return states.every(([state]) => state === to)
  }

  /** Names of things that certainly exist at a known place. */
  living(prefix: string): string[] {
    return [...this.places.keys()].filter(name => {
      const states = this.#states.get(name) ?? []
      return name.startsWith(prefix) && states.length === 1 && states[0] !== undefined
    })
  }

  /** How many things of the kind have existed, at least and at most. */
  everMade(prefix: string): { least: number; most: number } {
    const count = (names: ReadonlySet<string>): number =>
      [...names].filter(name => name.startsWith(prefix)).length
    const least = count(this.#made)
    return { least, most: least + count(this.#doubtful) }
  }

  #set(name: string, state: State): void {
    this.#states.set(name, [state])
    if (state === undefined) this.places.delete(name)
    else this.#made.add(name)
  }
}

const told = (state: State): string => (state === undefined ? 'not there' : String(state))
