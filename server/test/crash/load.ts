import assert from 'node:assert/strict'
import { setImmediate as turnEnds } from 'node:timers/promises'
import { Seeded } from '../rig/seeded.ts'
import type { Books } from './books.ts'
import { type Answer, exchange, type Target } from './exchange.ts'
import { nextWrite, type Write } from './writes.ts'

const writers = 12
/** A key that is in flight for longer is stuck. */
const inFlightMs = 15_000
const answersMax = 5_000
/** What goes on while the oracle sees to something else. */
const answersAhead = 40
/** More of a writer's answers are not lost before it asks for one of them again. */
const openMax = 3

/** An answered write with an idempotency key; asked for again it must be told the same, and do nothing. */
type Answered = { readonly write: Write; readonly id: unknown; readonly clockMs: number }
const replayedForMs = 20 * 3_600_000

/** What the writers know, over the deaths of the vault. */
export class Ledger {
  readonly books: Books
  /** Writes with a key whose answers were lost, by writer. */
  readonly open = new Map<string, Write[]>()
  readonly answered = new Map<string, Answered>()
  readonly secrets = new Map<string, string>()
  readonly counts = { answered: 0, lost: 0, repeated: 0 }

  constructor(books: Books) {
    this.books = books
  }

  /** Nothing that is still to be asked for again stands on it. */
  isFree = (name: string): boolean =>
    ![...this.open.values()].flat().some(({ names, needs = [] }) => [...names, ...needs].includes(name))
}

/** Several writers at once, each with things of its own, until they are told to end. */
export class Load {
  readonly #target: Target
  readonly #ledger: Ledger
  readonly #round: number
  readonly #seed: number
  readonly #done: Promise<void>
  #isOver = false
  #answers = 0
  /** Beyond so many answers the writers wait. */
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

  /** Resolves after so many answers more; then a few still follow, and nothing else is asked for. */
  answers(more: number): Promise<void> {
    return this.while(
      new Promise(reached => {
        const count = this.#answers + more
        this.#awaited = { count, reached }
        this.#allow(count + answersAhead)
      }),
    )
  }

  /** Nobody waits any more. */
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
    const { books, open, isFree, secrets, answered } = this.#ledger
    const random = new Seeded(this.#seed * 100 + Number(writer.slice(1)))
    const pick = (count: number): number => random.below(count)
    for (let number = 0; ; number++) {
      while (!this.#isOver && this.#answers >= this.#allowed) await this.#more.promise
      if (this.#isOver) return
      const url = await this.#target.reach(pick)
      if (url === undefined) return
      const lost = open.get(writer) ?? []
      const repeated = random.below(8) === 0 ? answered.get(writer) : undefined
      const isAgain = lost.length >= openMax || (lost.length > 0 && random.below(3) === 0)
      let isAnswered: boolean
      if (repeated !== undefined) isAnswered = await repeat(this.#target, url, this.#ledger, repeated)
      else {
        const { clockMs } = this.#target
        const name = `${writer}${this.#round}.${number}`
        const write = isAgain ? lost[0] : undefined
        isAnswered = await carryOut(
          this.#target,
          url,
          this.#ledger,
          writer,
          write ?? nextWrite({ books, random, writer, name, isFree, clockMs, secrets }),
        )
      }
      if (isAnswered) this.#count()
      else await turnEnds()
    }
  }

  #count(): void {
    this.#answers++
    assert.ok(this.#answers < answersMax, 'nothing has died, or what died does not come back')
    if (this.#awaited !== undefined && this.#answers >= this.#awaited.count) this.#awaited.reached()
  }
}

const ask = (target: Target, url: string, { method, path, by, body, idempotencyKey }: Write) =>
  exchange(url, method, path, {
    key: target.keys[by],
    ...(body && { body: body(target.clockMs) }),
    ...(idempotencyKey !== undefined && { headers: { 'svc-idempotency-key': idempotencyKey } }),
  })

/** Also where the first request of its key is still under way, as far as storage knows (C33). */
const askUntilTold = async (target: Target, url: string, write: Write): Promise<Answer | undefined> => {
  const until = Date.now() + inFlightMs
  for (;;) {
    const answer = await ask(target, url, write)
    if (answer?.status !== 409) return answer
    assert.ok(Date.now() < until, `the key of ${write.names} is stuck`)
  }
}

/** Nobody was told: what happened is not known, and nobody may be told that nothing did. */
const isLost = (target: Target, answer: Answer | undefined): answer is undefined => {
  if (answer === undefined) return true
  if (answer.status !== 503 || !target.isShaken) return false
  assert.doesNotMatch(answer.body.detail, /nothing was done/)
  return true
}

/** Writes, and keeps the books: possible before the request, certain after the answer. False where none came. */
export const carryOut = async (
  target: Target,
  url: string,
  { books, open, answered, counts }: Ledger,
  writer: string,
  write: Write,
): Promise<boolean> => {
  const { names, to, idempotencyKey } = write
  const lost = open.get(writer) ?? []
  const isAgain = lost.includes(write)
  const happened = isAgain ? books.happened(names, to) : undefined
  if (!isAgain) books.begin(names, to)
  const answer = await (isAgain ? askUntilTold(target, url, write) : ask(target, url, write))
  if (isLost(target, answer)) {
    if (!isAgain) counts.lost++
    if (!isAgain && idempotencyKey !== undefined) open.set(writer, [...lost, write])
    // Once more it is not known whether it has happened.
    if (isAgain && happened === false) books.begin(names, to)
    return false
  }
  assert.equal(answer?.status, write.status, `${write.method} ${names}: ${JSON.stringify(answer?.body)}`)
  if (happened !== undefined)
    assert.equal(answer?.replayed, happened, `${names} ${happened ? 'had' : 'had not'} happened`)
  open.set(
    writer,
    lost.filter(one => one !== write),
  )
  books.settle(names, to)
  write.learn?.(answer?.body)
  counts.answered++
  if (idempotencyKey !== undefined)
    answered.set(writer, { write, id: answer?.body.id, clockMs: target.clockMs })
  return true
}

/** Asks for something that was answered before. */
const repeat = async (
  target: Target,
  url: string,
  { counts }: Ledger,
  { write, id, clockMs }: Answered,
): Promise<boolean> => {
  if (target.clockMs - clockMs > replayedForMs) return true
  const answer = await ask(target, url, write)
  if (isLost(target, answer)) return false
  assert.deepEqual(
    { status: answer?.status, replayed: answer?.replayed, id: answer?.body.id },
    { status: write.status, replayed: true, id },
    `${write.names} was answered before`,
  )
  counts.repeated++
  return true
}

/** Every write whose answer was lost is asked for again: it must be told that it happened, or happen. */
export const askAgain = async (target: Target, ledger: Ledger): Promise<number> => {
  let count = 0
  for (const [writer, writes] of ledger.open)
    for (const write of writes) {
      const url = await target.reach(count => count - 1)
      assert.ok(url !== undefined, 'no node lives')
      assert.ok(await carryOut(target, url, ledger, writer, write), `${write.names} was not answered`)
      count++
    }
  return count
}
