import assert from 'node:assert/strict'

/** What one token may look like now; `undefined` is a token that is not there. */
export type State = number | undefined

/** A token as a list shows it. */
export type ListedToken = {
  readonly id: string
  readonly type: string
  readonly data: unknown
  readonly metadata: Record<string, string>
}

/**
 * What must be in the vault. Each token has a tag of its own in its metadata and one number that is in every part
 * of it. An answered write leaves one state; one that was under way when the vault died leaves two, until the
 * vault is seen again.
 */
export class Expectations {
  readonly #states = new Map<string, readonly State[]>()
  /** Writes of several parts without an answer: the parts must agree on whether it happened. */
  readonly #together = new Map<readonly string[], State>()
  /** Where the tokens are, as far as an answer or a list has told it. */
  readonly found = new Map<string, Pick<ListedToken, 'id' | 'type'>>()

  /** Before the request leaves: from now on both states are possible. */
  begin(tags: readonly string[], to: State): void {
    for (const tag of tags) this.#states.set(tag, [...(this.#states.get(tag) ?? [undefined]), to])
    if (tags.length > 1) this.#together.set(tags, to)
  }

  /** The answer came: only the new state is possible. */
  settle(tags: readonly string[], to: State): void {
    this.#together.delete(tags)
    for (const tag of tags) {
      this.#states.set(tag, [to])
      if (to === undefined) this.found.delete(tag)
    }
  }

  /** Holds what is there against what may be there; afterwards what is there is what must be there. */
  check(tokens: readonly ListedToken[]): void {
    const seen = new Map<string, number>()
    for (const token of tokens) {
      const { tag = '', n } = token.metadata
      assert.ok(this.#states.has(tag), `${token.id} was never written`)
      assert.ok(!seen.has(tag), `${tag} is there twice`)
      assertWhole(token)
      seen.set(tag, Number(n))
      this.found.set(tag, token)
    }
    for (const [tag, states] of this.#states) {
      const state = seen.get(tag)
      assert.ok(
        states.includes(state),
        `${tag} is ${state ?? 'not there'}, and must be ${states.map(one => one ?? 'not there').join(' or ')}`,
      )
    }
    for (const [tags, to] of this.#together) {
      const happened = tags.filter(tag => seen.get(tag) === to)
      assert.ok(
        happened.length === 0 || happened.length === tags.length,
        `only ${happened} of ${tags} are there`,
      )
    }
    this.#together.clear()
    for (const tag of this.#states.keys()) {
      const state = seen.get(tag)
      this.#states.set(tag, [state])
      if (state === undefined) this.found.delete(tag)
    }
  }

  /** Tags of tokens that are certainly there, and where. */
  living(prefix: string): string[] {
    return [...this.found.keys()].filter(tag => tag.startsWith(prefix) && this.#states.get(tag)?.length === 1)
  }
}

/** Every part of a token must come from one and the same write. */
const assertWhole = ({ id, type, data, metadata }: ListedToken): void => {
  const n = Number(metadata.n)
  if (type === 'card')
    assert.deepEqual(data, { number: '4242424242424242', expiration_month: (n % 12) + 1, cvc: cvcOf(n) }, id)
  else assert.deepEqual(data, { left: n, right: n }, `${id} is half written`)
}

export const cvcOf = (n: number): string => String(n % 1000).padStart(3, '0')
