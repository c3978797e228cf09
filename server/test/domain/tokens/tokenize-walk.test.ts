import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../../src/domain/json/json.ts'
import { parseJson } from '../../../src/domain/json/parse-json.ts'
import { walkPayload } from '../../../src/domain/tokens/tokenize-walk.ts'

const parse = (text: string): Json => parseJson(Buffer.from(text))

test('what holds nothing to tokenize comes back without being copied (C23.2, C20.7)', () => {
  const untouched = parse('[[], {}, null, [[{ "a": [] }]], { "2": null, "1": {} }]')
  const { found, rebuild } = walkPayload(untouched)
  assert.deepEqual(found, [])
  assert.equal(rebuild([]), untouched)

  const mixed = { keep: untouched, replace: ['x'] }
  const rebuilt = walkPayload(mixed).rebuild(['id'])
  assert.deepEqual(rebuilt, { keep: untouched, replace: ['id'] })
  assert.equal((rebuilt as typeof mixed).keep, untouched)
  assert.deepEqual(mixed.replace, ['x'])
})

test('each element is found at its place, with keys in the order that was sent (C23.1, C2.4)', () => {
  const payload = parse('{"2":{"":"a"},"__proto__":["b",[{"12345678":true}]],"1":{"type":"card","data":0}}')
  const { found, rebuild } = walkPayload(payload)
  assert.deepEqual(
    found.map(({ place }) => place),
    ['2[key 1]', '__proto__[0]', '__proto__[1][0][key 1]', '1'],
  )
  assert.equal(
    JSON.stringify(rebuild(['A', 'B', 'C', 'D'])),
    '{"1":"D","2":{"":"A"},"__proto__":["B",[{"12345678":"C"}]]}',
  )
})

test('a megabyte of brackets is walked in a fraction of a second (C20.7)', () => {
  const brackets = `${'['.repeat(30)}${']'.repeat(30)}`
  const payload = parse(`[${Array(17_000).fill(brackets).join()}]`)
  const start = process.cpuUsage()
  walkPayload(payload).rebuild([])
  const { user, system } = process.cpuUsage(start)
  assert.ok(user + system < 700_000, `${user + system} µs`)
})
