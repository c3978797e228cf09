import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { isUnavailable } from './contract/rig.ts'
import { openedSqlite } from './opened-sqlite.ts'

describe('a writing thread (sqlite)', () => {
  const openedWithThread = async () => {
    const starting = once(process, 'worker')
    const opened = await openedSqlite()
    const [thread]: Worker[] = await starting
    assert.ok(thread)
    return { ...opened, thread }
  }
  const tick = (): Promise<void> => new Promise(resolve => process.nextTick(resolve))

  test('that ends without an error fails what waits for it (C2.23)', { timeout: 10_000 }, async () => {
    const { thread, create, close } = await openedWithThread()
    const lost = create('a')
    process.nextTick(() => void thread.terminate())
    await assert.rejects(lost, isUnavailable)
    assert.deepEqual(await create('b'), { committed: true })
    await close()
  })

  test('that cannot be sent a message fails its write alone, and answers the next (C2.23)', {
    timeout: 10_000,
  }, async t => {
    const { thread, create, close } = await openedWithThread()
    t.mock.method(
      thread,
      'postMessage',
      () => {
        throw new DOMException('Data cannot be cloned, out of memory.', 'DataCloneError')
      },
      { times: 1 },
    )
    await assert.rejects(create('a'))
    assert.deepEqual(await create('b'), { committed: true })
    await close()
  })

  test('whose end is reported twice fails nothing that its successor is asked (C27.1)', async () => {
    const { thread, create, close } = await openedWithThread()
    const first = create('a')
    await tick()
    thread.emit('error', new Error('out of memory'))
    await assert.rejects(first, isUnavailable)
    const next = create('b')
    await tick()
    await thread.terminate()
    assert.deepEqual(await next, { committed: true })
    await close()
  })

  test('whose last answer arrives after its end answers nothing that its successor is asked (C2.23, C27.1)', async () => {
    const { thread, create, close } = await openedWithThread()
    const first = create('a')
    await tick()
    thread.emit('error', new Error('out of memory'))
    await assert.rejects(first, isUnavailable)
    const next = create('b')
    await tick()
    thread.emit('message', { results: [{ committed: false, conflict: 'tokenExists' }] })
    assert.deepEqual(await next, { committed: true })
    await thread.terminate()
    await close()
  })
})
