import assert from 'node:assert/strict'
import type { Answered, Ledger } from './ledger.ts'
import { type Answer, askOnce, type Target } from './target.ts'
import type { Write } from './writes.ts'

/** A key that stays in flight for longer is stuck. */
const inFlightMs = 15_000
/** Less than the 24 hours for which answers are kept. */
const replayedForMs = 20 * 3_600_000

/** Where a write is sent, and where it is recorded. */
type To = { readonly target: Target; readonly url: string; readonly ledger: Ledger }

const ask = (target: Target, url: string, { method, path, by, body, idempotencyKey }: Write) =>
  askOnce(url, method, path, {
    key: target.keys[by],
    ...(body && { body: body(target.clockMs) }),
    ...(idempotencyKey !== undefined && { headers: { 'svc-idempotency-key': idempotencyKey } }),
  })

/** Repeats the request while the first one with its key is still under way as far as storage knows (C33). */
const askUntilTold = async (target: Target, url: string, write: Write): Promise<Answer | undefined> => {
  const until = Date.now() + inFlightMs
  for (;;) {
    const answer = await ask(target, url, write)
    if (answer?.status !== 409) return answer
    assert.ok(Date.now() < until, `the key of ${write.names} is stuck`)
  }
}

/** The outcome is unknown, so no answer may claim that nothing was done. */
const isLost = (target: Target, answer: Answer | undefined): answer is undefined => {
  if (answer === undefined) return true
  if (answer.status !== 503 || !target.isShaken) return false
  assert.doesNotMatch(answer.body.detail, /nothing was done/)
  assert.ok(answer.retryAfter, 'told to wait, and not how long')
  return true
}

/** Sends a write and keeps the books: possible before the request, certain after the answer. False if none came. */
export const carryOut = async (
  { target, url, ledger }: To,
  writer: string,
  write: Write,
): Promise<boolean> => {
  const { books, open, answered, counts } = ledger
  const { names, to, idempotencyKey } = write
  const lost = open.get(writer) ?? []
  const isAgain = lost.includes(write)
  const happened = isAgain ? books.happened(names, to) : undefined
  if (!isAgain) books.begin(names, to)
  const answer = await (isAgain ? askUntilTold(target, url, write) : ask(target, url, write))
  if (isLost(target, answer)) {
    if (!isAgain) counts.lost++
    if (!isAgain && idempotencyKey !== undefined) open.set(writer, [...lost, write])
    // Again it is unknown whether the write has happened.
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
  if (to === undefined) await areRefused(target, ledger, names)
  write.learn?.(answer?.body)
  keepReceipt(ledger, answer)
  counts.answered++
  if (idempotencyKey !== undefined)
    answered.set(writer, { write, id: answer?.body.id, clockMs: target.clockMs })
  return true
}

/** A revoked key stops working on every node within this time (C27). */
export const closedAfterMs = 1_000

/** The texts of these keys, as far as they are keys, open nothing any more. */
const areRefused = async ({ urls }: Target, { secrets }: Ledger, names: readonly string[]): Promise<void> => {
  const until = performance.now() + closedAfterMs
  for (const [name, key] of names.map(name => [name, secrets.get(name)] as const))
    for (const url of key === undefined ? [] : urls)
      for (let isOpen = true; isOpen; ) {
        const askedAt = performance.now()
        // A node that is dead, or has lost its storage, lets nobody in.
        isOpen = (await askOnce(url, 'GET', '/applications/key', { key: key ?? '' }))?.status === 200
        assert.ok(!isOpen || askedAt < until, `${name} was revoked and still opens ${url}`)
      }
}

/** L1: the answer to a write has a record, unless it only repeats an earlier one. */
const keepReceipt = ({ receipts }: Ledger, answer: Answer | undefined): void => {
  if (answer === undefined || answer.replayed) return
  assert.ok(answer.receipt !== null, 'a write was answered without a receipt')
  receipts.add(answer.receipt)
}

/** Reads a token in the clear, which must not be shown before its record is durable. False if no answer came. */
export const reveal = async ({ target, url, ledger }: To, name: string): Promise<boolean> => {
  const id = ledger.books.places.get(name)?.id
  const answer = await askOnce(url, 'GET', `/tokens/${id}`, { key: target.keys.private_api_key })
  if (isLost(target, answer)) return false
  // Another writer may have deleted it, or let it expire.
  if (answer?.status === 200) {
    keepReceipt(ledger, answer)
    ledger.counts.revealed++
  }
  return true
}

/** Has a token sent to the partner. False if no answer came. */
export const charge = async ({ target, url, ledger }: To, name: string): Promise<boolean> => {
  const { charging } = target
  const token = ledger.books.places.get(name)?.id
  assert.ok(charging && token)
  const { partner, key, proxyKey } = charging
  const number = ledger.books.next()
  const answer = await askOnce(url, 'POST', '/proxy/charge', {
    key,
    headers: { 'svc-proxy-key': proxyKey },
    body: { number, token, data: `{{ ${token} }}` },
  })
  if (answer === undefined || (answer.status === 503 && target.isShaken)) return false
  if (answer.status === 200) {
    keepReceipt(ledger, answer)
    ledger.counts.charged++
  } // Another writer may have deleted it, or let it expire.
  else assert.equal(answer.body.proxy_error?.code, 'token_not_found', JSON.stringify(answer.body))
  assert.equal(partner.charges.has(number), answer.status === 200, `the charge ${number}: ${answer.status}`)
  return true
}

/** Repeats a request that was answered before. */
export const repeat = async (
  { target, url, ledger: { counts } }: To,
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

/** Repeats every write whose answer was lost: the answer must say that it had happened, or it must happen now. */
export const askAgain = async (target: Target, ledger: Ledger): Promise<number> => {
  let count = 0
  for (const [writer, writes] of ledger.open)
    for (const write of writes) {
      const url = await target.reach(count => count - 1)
      assert.ok(url !== undefined, 'no node lives')
      assert.ok(await carryOut({ target, url, ledger }, writer, write), `${write.names} was not answered`)
      count++
    }
  return count
}
