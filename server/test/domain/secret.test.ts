import assert from 'node:assert/strict'
import { Console } from 'node:console'
import { Writable } from 'node:stream'
import { describe, test } from 'node:test'
import { format, inspect } from 'node:util'
import { Secret } from '../../src/domain/secret.ts'

const consoleText = (value: unknown): string => {
  let text = ''
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      text += String(chunk)
      done()
    },
  })
  const console = new Console(stream)
  for (const print of [console.log, console.error, console.dir, console.table, console.trace]) print(value)
  return text
}

describe('secrets', () => {
  const secret = new Secret('4242424242424242')
  const nested = { token: { data: secret, list: [secret], map: new Map([['data', secret]]) } }

  test('a secret is printed as [secret] (C2.5)', () => {
    assert.equal(String(secret), '[secret]')
    assert.equal(`${secret}`, '[secret]')
    assert.equal(`${'a '}${secret}`, 'a [secret]')
    assert.equal(['a', secret].join(), 'a,[secret]')
    assert.equal(JSON.stringify(secret), '"[secret]"')
    assert.equal(inspect(secret), '[secret]')
    assert.equal(
      format('%s %o %O %j', secret, secret, secret, secret),
      '[secret] [secret] [secret] "[secret]"',
    )
  })

  const ways: Record<string, (value: unknown) => string> = {
    JSON: value => JSON.stringify(value),
    inspection: value => inspect(value, { depth: 20, showHidden: true, getters: true, compact: false }),
    'inspection with customInspect off': value =>
      inspect(value, { depth: 20, showHidden: true, customInspect: false }),
    'the console': consoleText,
    'its properties': value => JSON.stringify(Object.getOwnPropertyDescriptors(value)),
    'its keys': value => Reflect.ownKeys(value as object).join(),
    'a copy': value => JSON.stringify({ ...(value as object) }),
    'an error': value => inspect(new Error(String(value), { cause: value })),
    'an assertion': value => {
      try {
        assert.deepEqual(value, null)
      } catch (error) {
        return inspect(error, { depth: 20 })
      }
      return ''
    },
  }
  for (const [way, show] of Object.entries(ways))
    test(`nothing of a secret shows through ${way} (C2.5)`, () => {
      for (const value of [secret, new Secret({ number: '4242424242424242' }), nested, [nested]]) {
        const text = show(value)
        assert.ok(!text.includes('4242'), text)
      }
    })

  test('a structured clone carries nothing of the secret (C2.5)', () => {
    assert.deepEqual(Object.keys(structuredClone({ ...secret })), [])
    assert.equal(inspect(structuredClone(secret)).includes('4242'), false)
  })

  test('expose returns the value of a secret (ARCHITECTURE.md invariants)', () => {
    assert.equal(secret.expose('the test'), '4242424242424242')
    const value = { a: 1 }
    assert.equal(new Secret(value).expose('the test'), value)
  })
})
