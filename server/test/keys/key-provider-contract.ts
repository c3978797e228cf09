import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'
import { type KeyProvider, KeyProviderError } from '../../src/keys/key-provider.ts'
import { damages } from '../crypto/damages.ts'

export type KeyProviderRig = {
  readonly provider: KeyProvider
  /** Another provider of the same kind with a different master key. */
  readonly stranger: KeyProvider
}

/** The whole promise of src/crypto/key-provider.ts; every provider passes it. */
export const keyProviderContract = (name: string, start: () => Promise<KeyProviderRig>): void => {
  describe(`key provider contract (${name})`, () => {
    const key = Uint8Array.from({ length: 32 }, (_, i) => 255 - i)
    const hex = Buffer.from(key).toString('hex')
    const context = 'strongroom/a tenant/data/1'

    /** Refused in the one way that callers know, without revealing anything about the key. */
    const refused = (error: unknown): boolean => {
      assert.ok(error instanceof KeyProviderError, String(error))
      const told = `${inspect(error, { depth: 9 })} ${JSON.stringify(error)}`
      assert.ok(!told.includes(hex) && !told.includes(Buffer.from(key).toString('base64')))
      return true
    }

    test('a key comes back as it was wrapped, and wrapping leaves the given one unchanged (C31.7)', async () => {
      const { provider } = await start()
      const given = Uint8Array.from(key)
      const wrapped = await provider.wrap(given, context)
      assert.deepEqual(given, key)
      assert.deepEqual(Uint8Array.from(await provider.unwrap(wrapped, context)), key)
      assert.deepEqual(Uint8Array.from(await provider.unwrap(Uint8Array.from(wrapped), context)), key)
    })

    test('a wrapped key shows nothing of the key, and no two wrappings are alike (C31.7)', async () => {
      const { provider } = await start()
      const wrapped = await Promise.all(Array.from({ length: 20 }, () => provider.wrap(key, context)))
      assert.equal(new Set(wrapped.map(bytes => bytes.toString('hex'))).size, 20)
      for (const bytes of wrapped)
        for (let start = 0; start + 8 <= key.length; start++)
          assert.ok(!bytes.includes(key.subarray(start, start + 8)))
    })

    test('a wrapped key opens only under its own context (C31.7, §1.3)', async () => {
      const { provider } = await start()
      const wrapped = await provider.wrap(key, context)
      for (const other of [
        '',
        'strongroom/a tenant/data/2',
        'strongroom/a tenant/index/1',
        'strongroom/another/data/1',
        `${context} `,
        context.toUpperCase(),
      ])
        await assert.rejects(provider.unwrap(wrapped, other), refused)
    })

    test('a damaged wrapped key is refused (C31.7)', async () => {
      const { provider } = await start()
      const wrapped = await provider.wrap(key, context)
      for (const { how, bytes } of damages(wrapped))
        await assert.rejects(provider.unwrap(bytes, context), refused, how)
    })

    test('a key wrapped by another master key is refused (C31.7)', async () => {
      const { provider, stranger } = await start()
      await assert.rejects(provider.unwrap(await stranger.wrap(key, context), context), refused)
    })

    test('it tells what is under the master key that wraps new keys from everything else (C14.4)', async () => {
      const { provider, stranger } = await start()
      const wrapped = await provider.wrap(key, context)
      assert.equal(await provider.isCurrent(wrapped, context), true)
      assert.equal(await provider.isCurrent(wrapped, `${context}0`), false)
      assert.equal(await provider.isCurrent(await stranger.wrap(key, context), context), false)
      for (const { how, bytes } of damages(wrapped))
        assert.equal(await provider.isCurrent(bytes, context), false, how)
    })

    test('a working provider passes its health check (C36.2)', async () => {
      const { provider } = await start()
      assert.equal(await provider.health(), undefined)
    })
  })
}
