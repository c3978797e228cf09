import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ParseShares } from '../../../src/http/connections/parse-shares.ts'

describe('turns of the parser', () => {
  test('bytes that are slow to parse give way to everybody else after a few milliseconds, and connections to one another (C37)', async () => {
    let now = 0
    let parsed: string[] = []
    const turns = new ParseShares(() => now)
    const parse = (name: string, pieces: number): void =>
      turns.take(() => {
        parsed.push(name)
        now++
        if (pieces > 1) parse(name, pieces - 1)
      })
    for (const name of ['a', 'b', 'c']) parse(name, 4)
    const inTurns: string[] = []
    while (parsed.length > 0) {
      inTurns.push(parsed.join(''))
      parsed = []
      await new Promise(setImmediate)
    }
    assert.deepEqual([...inTurns.join('')].sort().join(''), 'aaaabbbbcccc')
    for (const each of inTurns) assert.ok(each.length <= 8, each)
    assert.equal(inTurns.slice(1).join(''), 'bcbcbcbc')
    parse('d', 1)
    assert.deepEqual(parsed, ['d'])
  })
})
