import assert from 'node:assert/strict'
import { setImmediate as turnEnds } from 'node:timers/promises'
import { Seeded } from '../rig/seeded.ts'
import { carryOut, charge, repeat, reveal } from './carry-out.ts'
import type { Ledger } from './ledger.ts'
import type { Target } from './target.ts'
import { nextWrite } from './writes.ts'

const writers = 12
const answersMax = 5_000
/** How many more answers may come while the oracle attends to something else. */
const answersAhead = 40
/** A writer with this many lost answers repeats one of those requests next. */
const openMax = 3

/** Several concurrent writers, each with its own things, until they are told to end. */
export class Load {
  readonly #target: Target
  readonly #ledger: Ledger
  readonly #round: number
  readonly #seed: number
  readonly #done: Promise<void>
  #isOver = false
  #answers = 0
  /** After this many answers the writers wait. */
  #allowed = Number.POSITIVE_INFINITY
  #more = Promise.withResolvers<void>()
  #awaited: { count: number; reached: () => void } | undefined

  constructor(target: Target, ledger: Ledger, { seed, round }: { seed: number; round: number }) {
    this.#target = target
    this.#ledger = ledger
    this.#round = round
    this.#seed = seed
    this.#done = Promise.all(Array.from({ length: writers }, (_, number) => this.#write(`w${number}.`))).then(
      () => undefined,
    )
    this.#done.catch(() => undefined)
  }

  /** Resolves after `more` further answers. A few may still follow, then the writers wait. */
  answers(more: number): Promise<void> {
    return this.while(
      new Promise(reached => {
        const count = this.#answers + more
        this.#awaited = { count, reached }
        this.#allow(count + answersAhead)
      }),
    )
  }

  /** Lifts the limit on answers. */
  goOn(): void {
    this.#allow(Number.POSITIVE_INFINITY)
  }

  /** Fails as soon as a writer does. */
  while<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#done.then(() => work)])
  }

  async end(): Promise<void> {
    this.#isOver = true
    this.#allow(0)
    await this.#done
  }

  #allow(answers: number): void {
    this.#allowed = answers
    this.#more.resolve()
    this.#more = Promise.withResolvers()
  }

  async #write(writer: string): Promise<void> {
    const random = new Seeded(this.#seed * 100 + Number(writer.slice(1)))
    const pick = (count: number): number => random.below(count)
    for (let number = 0; ; number++) {
      while (!this.#isOver && this.#answers >= this.#allowed) await this.#more.promise
      if (this.#isOver) return
      const url = await this.#target.reach(pick)
      if (url === undefined) return
      const isAnswered = await this.#next(url, random, writer, `${writer}${this.#round}.${number}`)
      if (isAnswered) this.#count()
      else await turnEnds()
    }
  }

  /** A new write, one whose answer was lost, or one that was answered before. */
  #next(url: string, random: Seeded, writer: string, name: string): Promise<boolean> {
    const { books, open, isFree, secrets, answered } = this.#ledger
    const to = { target: this.#target, url, ledger: this.#ledger }
    const known = random.below(8) === 0 ? answered.get(writer) : undefined
    if (known !== undefined) return repeat(to, known)
    const tokens = random.below(4) === 0 ? books.living('token:') : []
    const shown = tokens[random.below(Math.max(1, tokens.length))]
    if (shown !== undefined)
      return to.target.charging !== undefined && random.below(2) === 0 ? charge(to, shown) : reveal(to, shown)
    const lost = open.get(writer) ?? []
    const isAgain = lost.length >= openMax || (lost.length > 0 && random.below(3) === 0)
    const { clockMs } = this.#target
    const context = { books, random, writer, name, isFree, clockMs, secrets }
    return carryOut(to, writer, (isAgain ? lost[0] : undefined) ?? nextWrite(context))
  }

  #count(): void {
    this.#answers++
    assert.ok(this.#answers < answersMax, 'nothing has died, or what died does not come back')
    if (this.#awaited !== undefined && this.#answers >= this.#awaited.count) this.#awaited.reached()
  }
}
