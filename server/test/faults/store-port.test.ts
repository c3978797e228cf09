import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { type Store, StoreUnavailableError } from '../../src/store/port.ts'
import { sqlite } from '../rig/engines.ts'
import { TestVault } from '../rig/test-vault.ts'
import { buildScene, contentOf, operations, type Scene, sendOperation } from './operations.ts'

/** What may befall one call of storage. */
const faults = {
  'fails before it reached storage': () => Promise.reject(new StoreUnavailableError('refused')),
  'is lost on its way back': async (call: () => Promise<unknown>) => {
    await call()
    throw new StoreUnavailableError('connection lost')
  },
  'takes its time': async (call: () => Promise<unknown>) => {
    for (let turns = 0; turns < 20; turns++) await new Promise(resolve => setImmediate(resolve))
    return call()
  },
}
type Fault = keyof typeof faults

const callsMax = 30

/** Lets the nth call at the store port meet a fault; `met` says which call that was. */
const faultAt = (
  store: Store,
  nth: number,
  fault: Fault,
): { met: () => string | undefined; mend: () => void } => {
  const whole = { ...store }
  let calls = 0
  let met: string | undefined
  for (const name of Object.keys(whole) as (keyof Store)[]) {
    if (name === 'grantsEpoch' || name === 'close') continue
    const call = whole[name] as (...args: unknown[]) => Promise<unknown>
    Object.assign(store, {
      [name]: (...args: unknown[]) => {
        calls++
        if (calls !== nth) return call(...args)
        met = name
        return faults[fault](() => call(...args))
      },
    })
  }
  return { met: () => met, mend: () => Object.assign(store, whole) }
}

describe('storage of which the nth call fails (sqlite alone: it fails at the port)', () => {
  let scene: Scene
  beforeEach(async () => {
    scene = await buildScene(await TestVault.start({ engine: sqlite }))
  })
  afterEach(() => scene.vault.stop())

  /** As after a start, so that also what is usually remembered is read again. */
  const forget = (): void => scene.vault.service.vault.callers.clear()

  for (const operation of operations)
    for (const fault of Object.keys(faults) as Fault[])
      test(`C2.23 C33.5 ${operation.name} when a call ${fault}: 503 or done, never half, and well afterwards`, async () => {
        const { vault } = scene
        for (let nth = 1; ; nth++) {
          assert.ok(nth < callsMax, 'it never comes to an end')
          forget()
          const before = await contentOf(vault)
          const { met, mend } = faultAt(vault.store, nth, fault)
          const headers = { 'svc-idempotency-key': `${operation.name.replaceAll(' ', '-')}-${nth}` }
          const reply = await sendOperation(scene, operation, { headers })
          mend()
          if (reply.status < 300) {
            if (!operation.isWrite) assert.deepEqual(await contentOf(vault), before)
            if (operation.isWrite || met() === undefined) break
            continue
          }
          assert.equal(reply.status, 503, `call ${nth}, ${met()}: ${reply.text}`)
          assert.equal(reply.headers.get('retry-after'), '1')
          const wasWritten = met() === 'commit' && fault === 'is lost on its way back' && operation.isWrite
          if (wasWritten) {
            await assertDoneOnce(scene, operation, headers)
            break
          }
          assert.deepEqual(await contentOf(vault), before, `call ${nth}, ${met()}, left something behind`)
        }
      })

  test('C2.23 a look at whether grants have changed that fails: 503, and well afterwards', async () => {
    const { vault, keys, tokenId } = scene
    const { grantsEpoch } = vault.store
    vault.store.grantsEpoch = () => {
      throw new StoreUnavailableError('refused')
    }
    const reply = await vault.get(`/tokens/${tokenId}`, keys.owner)
    assert.equal(reply.status, 503, reply.text)
    assert.equal((await vault.send('GET', '/health')).status, 200)
    vault.store.grantsEpoch = grantsEpoch
    assert.equal((await vault.get(`/tokens/${tokenId}`, keys.owner)).status, 200)
  })

  /** The answer was lost, not the write: the same key gets the answer, and nothing is done twice. */
  const assertDoneOnce = async (
    { vault }: Scene,
    operation: (typeof operations)[number],
    headers: Record<string, string>,
  ): Promise<void> => {
    const after = await contentOf(vault)
    const again = await sendOperation(scene, operation, { headers })
    const isDelete = operation.send(scene).method === 'DELETE'
    if (isDelete) assert.ok([401, 404].includes(again.status), again.text)
    else {
      assert.ok(again.status < 300, again.text)
      assert.equal(again.headers.get('idempotent-replayed'), 'true')
    }
    assert.deepEqual(await contentOf(vault), after)
  }
})
