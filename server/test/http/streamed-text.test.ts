import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { endpoints } from '../../src/contract/endpoints.ts'
import type { Exchange } from '../../src/http/exchange.ts'
import { StreamedText } from '../../src/http/handlers.ts'
import { answerSender } from '../../src/http/send-answer.ts'
import type { Visit } from '../../src/http/visit.ts'
import type { Caller, Vault } from '../../src/operations/vault/vault.ts'
import { endlessTurn, someAct } from '../rig/caller-of.ts'

/** What happens while an answer is sent, in order. The client reads a piece when the test says so. */
const sending = (method: string, pieces: readonly string[], { reveals = false, hasRoom = true } = {}) => {
  const happened: string[] = []
  const reads: (() => void)[] = []
  const act = someAct()
  const touched = { id: 'a', containers: ['/'] }
  if (reveals) act.touches(touched, 'token:read', { transform: 'reveal' })
  let stored = (): void => {}
  const vault = {
    acts: {
      note: () => {
        happened.push('noted')
        act.isRecorded = true
      },
      record: () =>
        new Promise<void>(resolve => {
          happened.push('recording')
          stored = () => {
            act.isRecorded = true
            resolve()
          }
        }),
      idOf: () => '',
    },
  } as unknown as Vault
  const exchange = {
    method,
    traceId: 'a-trace-of-a-test',
    stream: () => {
      happened.push('head')
      return {
        write: (text: string) => {
          happened.push(`sent ${text}`)
          return new Promise<void>(resolve => reads.push(resolve))
        },
        end: () => happened.push('end'),
      }
    },
  } as unknown as Exchange
  const memory = {
    hold: () => hasRoom,
    keep: (bytes: number) => happened.push(`keeps ${bytes}`),
  }
  async function* made(): AsyncGenerator<string> {
    for (const piece of pieces) {
      happened.push(`made ${piece}`)
      yield piece
    }
  }
  const send = answerSender(endpoints.exportLogs, { vault, headerPrefix: 'svc' })
  const caller = { act, application: { type: 'management' } } as unknown as Caller
  const visit = { work: endlessTurn, memory } as unknown as Visit
  const done = send(exchange, new StreamedText('text/plain', made()), visit, caller)
  return { happened, done, read: () => reads.shift()?.(), stored: () => stored() }
}

describe('an answer of any length', () => {
  test('no piece is made before the client has read the one before (L5.8, C37.6)', async () => {
    const { happened, done, read } = sending('GET', ['one', 'two'])
    await nextIteration()
    const first = ['made one', 'noted', 'head', 'sent one']
    assert.deepEqual(happened, first)
    read()
    await nextIteration()
    const second = [...first, 'made two', 'sent two']
    assert.deepEqual(happened, second)
    read()
    await done
    assert.deepEqual(happened, [...second, 'end', 'keeps 0'])
  })

  test('one that shows data begins when its record is durable (L1.7)', async () => {
    const { happened, done, read, stored } = sending('GET', ['one'], { reveals: true })
    await nextIteration()
    assert.deepEqual(happened, ['made one', 'recording'])
    stored()
    await nextIteration()
    assert.deepEqual(happened, ['made one', 'recording', 'head', 'sent one'])
    read()
    await done
  })

  test('one without a piece is recorded and has a head (L1.1)', async () => {
    const { happened, done } = sending('GET', [])
    await done
    assert.deepEqual(happened, ['noted', 'head', 'end', 'keeps 0'])
  })

  test('HEAD gets the head alone (L5.8)', async () => {
    const { happened, done } = sending('HEAD', ['one', 'two'])
    await done
    assert.deepEqual(happened, ['made one', 'noted', 'head', 'end', 'keeps 0'])
  })

  test('where memory has no room, it is refused before anything is made (C37.6)', async () => {
    const { happened, done } = sending('GET', ['one'], { hasRoom: false })
    await assert.rejects(async () => done, { code: 'overloaded' })
    assert.deepEqual(happened, [])
  })
})
