import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { pace } from '../../src/domain/pace.ts'
import { pageRoom } from '../../src/http/page-room.ts'

/** A client with this many unread bytes of its answers. */
const client = (unread = 0): Socket =>
  Object.assign(new EventEmitter(), {
    writableLength: unread,
    writableHighWaterMark: 16_384,
  }) as unknown as Socket

describe('room for pages', () => {
  test('C2.23 a few pages are made at a time, the others in order of arrival', async () => {
    const room = pageRoom()
    for (let n = 0; n < pace.pagesAtOnce; n++) await room.enter()
    const entered: string[] = []
    const waiting = ['first', 'second'].map(name => room.enter().then(() => entered.push(name)))
    await new Promise(setImmediate)
    assert.deepEqual(entered, [])
    room.leave(client())
    await waiting[0]
    assert.deepEqual(entered, ['first'])
    room.leave(client())
    await waiting[1]
    for (let n = 0; n < pace.pagesAtOnce; n++) room.leave(client())
    for (let n = 0; n < pace.pagesAtOnce; n++) await room.enter()
  })

  test('C2.23 waiting requests are refused too if too much is unread when their turn comes', async () => {
    const room = pageRoom()
    for (let n = 0; n < pace.pagesAtOnce; n++) await room.enter()
    const waiting = [room.enter(), room.enter()]
    room.leave(client(pace.pageBytesUnreadMax + 1))
    for (const one of waiting) await assert.rejects(one, { code: 'overloaded' })
  })

  test('C2.23 clients that leave a little unread, however many, keep nobody from a page', async () => {
    const room = pageRoom()
    const little = pace.pageBytesNoted - 1
    for (let unread = 0; unread <= pace.pageBytesUnreadMax + little; unread += little) {
      await room.enter()
      room.leave(client(little))
    }
    await room.enter()
  })

  for (const end of ['drain', 'close'])
    test(`C2.23 while clients leave too much unread, no more pages are made until a ${end} event`, async () => {
      const room = pageRoom()
      const slow = client(pace.pageBytesUnreadMax)
      const slower = client(pace.pageBytesNoted)
      for (const socket of [slow, slower]) {
        await room.enter()
        room.leave(socket)
      }
      const refused = { code: 'overloaded', headers: { 'retry-after': '1' } }
      for (let n = 0; n <= pace.pagesAtOnce; n++) await assert.rejects(room.enter(), refused)
      slow.emit(end)
      slow.emit(end)
      await room.enter()
      assert.equal(slow.listenerCount('drain') + slow.listenerCount('close'), 0)
    })
})
