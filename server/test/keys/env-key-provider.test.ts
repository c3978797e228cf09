import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { envKeyProvider } from '../../src/keys/env/env-key-provider.ts'
import { KeyProviderError } from '../../src/keys/key-provider.ts'
import { newMasterKeyText } from '../../src/keys/master-key.ts'
import { keyProviderContract } from './key-provider-contract.ts'

const provide = (...texts: string[]) => envKeyProvider('A_VARIABLE', texts.join(' '))

keyProviderContract('env', async () => ({
  provider: provide(newMasterKeyText()),
  stranger: provide(newMasterKeyText()),
}))

keyProviderContract('env with an older key', async () => ({
  provider: provide(newMasterKeyText(), newMasterKeyText()),
  stranger: provide(newMasterKeyText(), newMasterKeyText()),
}))

describe('master keys in a variable', () => {
  const [old, next] = [newMasterKeyText(), newMasterKeyText()]
  const key = new Uint8Array(32).fill(7)

  test('the first wraps, and all of them unwrap (C14.4)', async () => {
    const [before, during, after] = [provide(old), provide(next, old), provide(next)]
    const wrapped = await before.wrap(key, 'a')
    assert.deepEqual(Uint8Array.from(await during.unwrap(wrapped, 'a')), key)
    assert.equal(await during.isCurrent(wrapped, 'a'), false)
    const again = await during.wrap(key, 'a')
    assert.equal(await during.isCurrent(again, 'a'), true)
    assert.deepEqual(Uint8Array.from(await after.unwrap(again, 'a')), key)
    await assert.rejects(after.unwrap(wrapped, 'a'), KeyProviderError)
    await assert.rejects(before.unwrap(again, 'a'), KeyProviderError)
  })

  for (const [name, text] of Object.entries({
    nothing: '',
    'white space': ' \n ',
    'something else after a key': `${old} and more`,
    'a key that has lost its end, after a whole one': `${old} ${next.slice(0, -9)}`,
    'two keys without a space': `${old}${next}`,
  }))
    test(`a variable with ${name} is refused without revealing its content (C35.1)`, () => {
      assert.throws(
        () => provide(text),
        (error: unknown) => {
          assert.ok(error instanceof KeyProviderError)
          assert.match(error.message, /^A_VARIABLE does not hold a master key/)
          for (const secret of [old, next]) assert.ok(!error.message.includes(secret.slice(30, 50)))
          return true
        },
      )
    })
})
