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

  const ofFiles: { name: string; isTTY: boolean; json: boolean; of: number | undefined; says: string[] }[] = [
    {
      name: 'of a file it tells the rate of this run, and the time left by its bytes',
      isTTY: false,
      json: false,
      of: 90_000,
      says: [
        'importing: 33 %, 1,100 rows, 10/s, 20 s left\n',
        'importing: 66 %, 1,200 rows, 10/s, 10 s left\n',
        'importing: 100 %, 1,300 rows, 10/s, 0 s left\n',
      ],
    },
    {
      name: 'of standard input nobody knows the end',
      isTTY: false,
      json: false,
      of: undefined,
      says: [
        'importing: 1,100 rows, 10/s\n',
        'importing: 1,200 rows, 10/s\n',
        'importing: 1,300 rows, 10/s\n',
      ],
    },
    {
      name: 'a script gets seconds',
      isTTY: false,
      json: true,
      of: 90_000,
      says: [
        '{"phase":"import","done":30000,"of":90000,"rows":1100,"seconds_left":20,"per_second":10}\n',
        '{"phase":"import","done":60000,"of":90000,"rows":1200,"seconds_left":10,"per_second":10}\n',
        '{"phase":"import","done":90000,"of":90000,"rows":1300,"seconds_left":0,"per_second":10}\n',
      ],
    },
    {
      name: 'a terminal gets a line in place, without colors',
      isTTY: true,
      json: false,
      of: 90_000,
      says: [
        `\r\u001b[Kimporting ${'█'.repeat(10)}${'░'.repeat(20)} 33 %, 1,100 rows, 10/s, 20 s left`,
        `\r\u001b[Kimporting ${'█'.repeat(20)}${'░'.repeat(10)} 66 %, 1,200 rows, 10/s, 10 s left`,
        `\r\u001b[Kimporting ${'█'.repeat(30)} 100 %, 1,300 rows, 10/s, 0 s left`,
        '\n',
      ],
    },
  ]
  for (const { name, isTTY, json, of, says } of ofFiles)
    test(name, () => {
      let text = ''
      let nowMs = 0
      const write = (more: string): boolean => {
        text += more
        return true
      }
      const { show, end } = progressOn({ isTTY, write } as never, { json, now: () => nowMs })
      for (const step of [1, 2, 3]) {
        nowMs += 10_000
        show({ phase: 'import', done: step * 30_000, of, rows: 1_000 + step * 100, earlier: 1_000 })
      }
      end()
      assert.equal(text, says.join(''))
    })
})
