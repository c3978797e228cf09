import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { progressOn } from '../../src/cli/progress.ts'

describe('progress of a copy', () => {
  /** What is written during a copy of `of` rows, at 100 rows per second. */
  const written = (
    options: { isTTY: boolean; json: boolean },
    done: readonly number[],
    of: number,
  ): string => {
    let text = ''
    let nowMs = 0
    const write = (more: string): boolean => {
      text += more
      return true
    }
    const { show, end } = progressOn({ isTTY: options.isTTY, write } as never, {
      json: options.json,
      now: () => nowMs,
    })
    for (const phase of ['copy', 'verify'] as const)
      for (const rows of done) {
        nowMs += 1_000
        show({ phase, done: rows, of })
      }
    end()
    return text
  }

  const cases = [
    {
      name: 'a pipe gets a line for every five percent',
      options: { isTTY: false, json: false },
      says: [
        'copying: 0 %, 0 of 10,000 rows, 0/s\n',
        'copying: 5 %, 500 of 10,000 rows, 250/s\n',
        'copying: 100 %, 10,000 of 10,000 rows, 2,500/s\n',
        'verifying: 0 %, 0 of 10,000 rows, 0/s\n',
        'verifying: 5 %, 500 of 10,000 rows, 250/s\n',
        'verifying: 100 %, 10,000 of 10,000 rows, 2,500/s\n',
      ],
    },
    {
      name: 'a script gets JSON objects',
      options: { isTTY: true, json: true },
      says: ['copy', 'verify'].flatMap(phase => [
        `{"phase":"${phase}","done":0,"of":10000,"per_second":0}\n`,
        `{"phase":"${phase}","done":500,"of":10000,"per_second":250}\n`,
        `{"phase":"${phase}","done":10000,"of":10000,"per_second":2500}\n`,
      ]),
    },
    {
      name: 'a terminal shows a bar for each phase',
      options: { isTTY: true, json: false },
      says: ['copying  ', 'verifying'].flatMap(word => [
        `\r\u001b[K${word} ${'░'.repeat(30)} 0 %, 0 of 10,000 rows, 0/s`,
        `\r\u001b[K${word} ${'░'.repeat(30)} 1 %, 100 of 10,000 rows, 100/s`,
        `\r\u001b[K${word} ${'█'.repeat(2)}${'░'.repeat(28)} 5 %, 500 of 10,000 rows, 250/s`,
        `\r\u001b[K${word} ${'█'.repeat(30)} 100 %, 10,000 of 10,000 rows, 2,500/s`,
        '\n',
      ]),
    },
  ]
  for (const { name, options, says } of cases)
    test(`${name} (C35)`, () => {
      assert.deepEqual(written(options, [0, 100, 500, 540, 10_000], 10_000), says.join(''))
    })

  test('a vault without rows is done at once (C35)', () => {
    assert.match(written({ isTTY: false, json: false }, [0], 0), /^copying: 100 %, 0 of 0 rows/)
  })
})
