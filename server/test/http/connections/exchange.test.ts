import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { PlainExchange } from '../../../src/http/connections/plain-exchange.ts'
import { problemSender } from '../../../src/http/send-problem.ts'

const silent = { isDebug: false, error: () => {}, info: () => {}, debug: () => {} }

describe('the answer to a plain request', () => {
  const open = (): { exchange: PlainExchange; sent: string[]; socket: Socket } => {
    const sent: string[] = []
    const socket = new Socket()
    const connection = {
      socket,
      keepAliveSeconds: 1,
      isLast: false,
      answer: (text: string) => void sent.push(text),
    }
    const head = { method: 'GET', url: '/', headers: {}, bodyStart: 0 }
    return { exchange: new PlainExchange(connection, head, {}, Buffer.alloc(0), 'trace'), sent, socket }
  }

  test('C2.17 is sent once; what would answer it again ends the connection, and is logged', () => {
    const { exchange, sent, socket } = open()
    exchange.send(200, {}, 'first')
    const logged: unknown[] = []
    const sendProblem = problemSender({
      log: { ...silent, error: fields => void logged.push(fields) },
      headerPrefix: 'svc',
    })
    sendProblem(exchange, new Error('a bug'))
    assert.equal(sent.length, 1)
    assert.ok(socket.destroyed)
    assert.equal(logged.length, 2)
  })

  test('C2.17 has no header with a line break in it; the problem that takes its place does not either', () => {
    const { exchange, sent } = open()
    assert.throws(() => exchange.send(200, { location: 'a\r\nb: c' }))
    problemSender({ log: silent, headerPrefix: 'svc' })(exchange, new Error('a bug'))
    assert.equal(sent.length, 1)
    assert.match(sent[0] ?? '', /^HTTP\/1\.1 500 /)
    assert.doesNotMatch(sent[0] ?? '', /^b: c/m)
  })

  test('C4.1 has the Date of its second', t => {
    t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
    const dateSent = (): string | undefined => {
      const { exchange, sent } = open()
      exchange.send(200, {})
      return /^Date: (.+)\r$/m.exec(sent.join(''))?.[1]
    }
    assert.equal(dateSent(), new Date(1_000_000).toUTCString())
    t.mock.timers.tick(1_000)
    assert.equal(dateSent(), new Date(1_001_000).toUTCString())
  })
})
