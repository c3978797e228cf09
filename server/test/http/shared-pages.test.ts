import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Answer } from '../../src/http/call.ts'
import { sharedPages } from '../../src/http/shared-pages.ts'
import type { Caller } from '../../src/operations/vault/vault.ts'

/** Looks like every other caller, as two keys of an application may. */
const newCaller = (): Caller => ({}) as Caller

describe('pages that are asked for at the same moment', () => {
  /** Makes pages that are numbered in the order of their making. */
  const numbered = () => {
    const { page } = sharedPages()
    let made = 0
    return (caller: Caller, request: string): Promise<Answer> => page(caller, request, async () => ++made)
  }

  test('C24.1 what is the same is made once, for one caller and one request, however many others there are', async () => {
    const page = numbered()
    const [one, other] = [newCaller(), newCaller()]
    const asked: readonly [caller: Caller, request: string][] = [
      [one, '/tokens'],
      [other, '/tokens'],
      [one, '/tokens?size=5'],
      [one, '/tokens'],
      [other, '/tokens'],
      [one, '/tokens?size=5'],
    ]
    assert.deepEqual(
      await Promise.all(asked.map(([caller, request]) => page(caller, request))),
      [1, 2, 3, 1, 2, 3],
    )
  })

  test('C27.1 steps that follow each other without a pause are one moment, the next event begins another', async () => {
    const page = numbered()
    const caller = newCaller()
    const first = page(caller, '/tokens')
    await undefined
    assert.equal(await page(caller, '/tokens'), 1)
    await new Promise(setImmediate)
    assert.equal(await page(caller, '/tokens'), 2)
    assert.equal(await first, 1)
  })

  test('C27.1 a page that is still being made is not shared with whoever comes later', async () => {
    const { page } = sharedPages()
    const caller = newCaller()
    let finish = (_page: Answer): void => {}
    const slow = page(
      caller,
      '/tokens',
      () =>
        new Promise(resolve => {
          finish = resolve
        }),
    )
    await new Promise(setImmediate)
    assert.equal(await page(caller, '/tokens', async () => 'new'), 'new')
    finish('old')
    assert.equal(await slow, 'old')
  })

  test('C2.23 who shares a page that cannot be made is refused like the one that it was made for', async () => {
    const { page } = sharedPages()
    const caller = newCaller()
    const fail = (): Promise<Answer> => Promise.reject(new Error('no storage'))
    const outcomes = await Promise.allSettled([page(caller, '/tokens', fail), page(caller, '/tokens', fail)])
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['rejected', 'rejected'],
    )
    await new Promise(setImmediate)
    assert.equal(await page(caller, '/tokens', async () => 'made'), 'made')
  })
})
