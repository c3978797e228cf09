import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../src/store/port.ts'
import { changesContent, type WriteSet } from '../../src/store/write-set.ts'
import { appearance } from '../rig/answers.ts'
import { onEveryEngine } from '../rig/every-engine.ts'
import { type Asked, prepareLookAlikes } from './look-alikes.ts'

/** What is recorded soon and not waited for may be stored at any time. */
const isOnlyLog = (name: string, [set]: unknown[]): boolean =>
  name === 'commit' && !changesContent(set as WriteSet)

/** The calls at the store port during the work, and how much each returned. */
const callsDuring = async (store: Store, work: () => Promise<unknown>): Promise<string[]> => {
  const calls: string[] = []
  const whole = { ...store }
  for (const name of Object.keys(whole) as (keyof Store)[]) {
    const call = whole[name] as (...args: unknown[]) => unknown
    Object.assign(store, {
      [name]: (...args: unknown[]) => {
        const result = call(...args)
        if (name !== 'grantsEpoch' && !isOnlyLog(name, args))
          void Promise.resolve(result).then(value =>
            calls.push(`${name} → ${Array.isArray(value) ? value.length : typeof value}`),
          )
        return result
      },
    })
  }
  await work()
  Object.assign(store, whole)
  return calls
}

/** Repeats the work if grants changed meanwhile, as the preparation may cause: everything is then read anew. */
const withGrantsAtRest = async <T>(store: Store, work: () => Promise<T>): Promise<T> => {
  for (let attempt = 0; attempt < 20; attempt++) {
    const before = store.grantsEpoch()
    const result = await work()
    if (store.grantsEpoch() === before) return result
  }
  return assert.fail('grants do not come to rest')
}

// Times are measured by hand, with `npm run test:timing`; this checks that the same work is done.
onEveryEngine('requests that their sender must not be able to tell apart', vault => {
  const ask = ({ path, key, body }: Asked) =>
    body === undefined ? vault().get(path, key) : vault().post(path, key, body)

  test('make the same calls to storage and get the same answer (C2.13, C30.3, U4.2, §1.3)', async () => {
    for (const { name, kinds } of await prepareLookAlikes(vault(), 3)) {
      const seen = await withGrantsAtRest(vault().store, async () => {
        // Reads that happen once and are then cached are not compared.
        const warm = kinds[0].next()
        await ask(warm)
        const looks = []
        for (const { next } of kinds) {
          const asked = next()
          let look: unknown
          const calls = await callsDuring(vault().store, async () => {
            look = appearance(await ask(asked))
          })
          assert.ok(calls.length > 0, `${name}: storage is asked`)
          looks.push({ look, calls })
        }
        return looks
      })
      assert.deepEqual(seen[0], seen[1], name)
    }
  })
})
