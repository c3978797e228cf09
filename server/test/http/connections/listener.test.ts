import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, mock, test } from 'node:test'
import { pace } from '../../../src/domain/pace.ts'
import { PlainExchange } from '../../../src/http/connections/plain-exchange.ts'
import type { AnswerStream, Exchange } from '../../../src/http/exchange.ts'
import {
  answerWith,
  get,
  head,
  Listening,
  post,
  reading,
  sendProblem,
  turns,
  until,
  type Wire,
} from './listening.ts'

const wires: readonly Wire[] = ['TCP', 'TLS']
const mebibyte = 1 << 20

/** Holds requests for `/held` until the test lets them go on; answers the others with their path and body. */
const holding = (
  listening: Listening,
): { readonly begun: string[]; readonly held: Exchange[]; answerHeld(): Promise<void> } => {
  const begun: string[] = []
  const held: Exchange[] = []
  const answer = answerWith(
    ({ url }, body) => `[${url}${body}]${url === '/long' ? '.'.repeat(8 * mebibyte) : ''}`,
  )
  listening.serve = exchange => {
    begun.push(exchange.url)
    if (exchange.url === '/held') held.push(exchange)
    else answer(exchange)
  }
  const answerHeld = async (): Promise<void> => {
    await until(() => held.length > 0)
    for (const exchange of held.splice(0)) answer(exchange)
  }
  return { begun, held, answerHeld }
}

const bodies = (text: string): string[] => [...text.matchAll(/\[([^\]]*)\]/g)].map(([, body = '']) => body)
const statuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))

/** What the chunks of an answer say. */
const unchunked = (answer: string): string => {
  let rest = answer.slice(answer.indexOf('\r\n\r\n') + 4)
  let content = ''
  for (;;) {
    const [line = ''] = rest.split('\r\n', 1)
    const start = line.length + 2
    const length = Number.parseInt(line, 16)
    if (length === 0) return content
    content += rest.slice(start, start + length)
    assert.equal(rest.slice(start + length, start + length + 2), '\r\n')
    rest = rest.slice(start + length + 2)
  }
}

/** So much time passes without anything happening on these connections. */
const passSilently = (ms: number, ...all: readonly Socket[]): void => {
  mock.timers.tick(ms)
  for (const served of all) if (served.timeout && served.timeout <= ms) served.emit('timeout')
}

for (const wire of wires)
  for (const [reader, strictReader] of [
    ['the strict reader', true],
    ["Node's parser", false],
  ] as const)
    describe(`a connection over ${wire} that begins with ${reader}`, () => {
      const listening = new Listening(wire, strictReader)

      test('requests that follow one another are answered, each with its own body (C2.10)', async () => {
        holding(listening)
        const both = await listening.open()
        const got = reading(both.client)
        for (const [count, bytes] of [
          get('/a'),
          post('/b', 'body'),
          get('/c', 'TE: trailers'),
          post('/d', 'x'),
        ].entries()) {
          both.client.write(bytes)
          await until(() => bodies(got.text).length > count)
        }
        assert.deepEqual(bodies(got.text), ['/a', '/bbody', '/c', '/dx'])
      })

      for (const sent of ['one by one', 'at once'] as const)
        test(`requests that arrive before the previous answer are begun when it is given, in order (${sent}) (C27.1, C2.10)`, async () => {
          const { begun, answerHeld } = holding(listening)
          const both = await listening.openWith(get('/held'))
          const got = reading(both.client)
          const rest = [post('/b', 'x'), get('/held'), get('/c'), get('/d')]
          for (const bytes of sent === 'at once' ? [rest.join('')] : rest) both.client.write(bytes)
          await listening.answeredElsewhere(3)
          const own = (): string[] => begun.filter(url => url !== '/elsewhere')
          assert.deepEqual(own(), ['/held'])
          await answerHeld()
          await until(() => own().length === 3)
          await turns(20)
          assert.deepEqual(own(), ['/held', '/b', '/held'])
          await answerHeld()
          await until(() => bodies(got.text).length === 5)
          assert.deepEqual(bodies(got.text), ['/held', '/bx', '/held', '/c', '/d'])
        })

      test('a request has its own body, whatever other connections bring meanwhile (C2.10)', async () => {
        const { answerHeld } = holding(listening)
        const { client } = await listening.openWith(post('/held', 'mine'))
        const other = await listening.openWith(post('/them', 'none'))
        other.client.destroy()
        const got = reading(client)
        await answerHeld()
        await until(() => got.text.endsWith('[/heldmine]'))
      })

      for (const fields of [[], ['TE: trailers']])
        test(`a request in pieces is answered, wherever it is cut (${fields.join() || 'plain'}) (C2.10)`, async () => {
          holding(listening)
          const whole = post('/a', 'body', ...fields)
          for (const cut of [1, 10, whole.length - 5, whole.length - 4, whole.length - 1]) {
            const both = await listening.openWith(whole.slice(0, cut))
            const got = reading(both.client)
            both.client.write(whole.slice(cut))
            await until(() => bodies(got.text).join() === '/abody')
          }
        })

      test('no further request is begun while the client has not read its answer (C2.23)', async () => {
        const { begun } = holding(listening)
        const { client, served } = await listening.openWith(get('/long'))
        client.pause().write(get('/b'))
        await until(() => served.bytesRead >= get('/long').length + get('/b').length)
        await turns(10)
        assert.deepEqual(begun, ['/long'])
        const got = reading(client.resume())
        await until(() => bodies(got.text).length === 2)
        assert.ok(got.text.length > 8 * mebibyte)
      })

      test('little of what a client sends is read while its first request is worked on, and everything is answered (C2.23)', async () => {
        const { answerHeld } = holding(listening)
        const both = await listening.openWith(get('/held'))
        const got = reading(both.client)
        const requests = 300
        both.client.write(get(`/${'x'.repeat(4_000)}`).repeat(requests) + get('/last'))
        await listening.answeredElsewhere(20)
        assert.ok(both.served.bytesRead < 300_000, `${both.served.bytesRead} bytes were read`)
        await answerHeld()
        await until(() => got.text.slice(-10).endsWith('[/last]'))
        assert.equal(bodies(got.text).length, requests + 2)
      })

      test('other clients are answered between requests that a crowd sends without waiting (C37.3)', async () => {
        let count = 0
        listening.serve = exchange => {
          count++
          exchange.send(200, { 'content-length': 1 }, 'x')
        }
        const crowd = []
        for (let n = 0; n < 10; n++) crowd.push(await listening.open())
        const all = crowd.map(({ client }) => reading(client))
        const other = await listening.open()
        for (const { client } of crowd) client.write(get('/crowd').repeat(200))
        other.client.write(get('/other'))
        await once(other.client, 'data')
        assert.ok(count < 1_000, `${count} requests of the crowd were answered first`)
        await until(() => all.every(({ text }) => statuses(text).length === 200))
      })

      test('what waits of a client that has left is not begun (C2.23)', async () => {
        const { begun } = holding(listening)
        const { client, served } = await listening.openWith(get('/held').repeat(3))
        await until(() => begun.length > 0)
        listening.reset(client)
        await until(() => served.destroyed)
        await turns(10)
        assert.deepEqual(begun, ['/held'])
      })

      for (const first of [1, 51])
        test(`a client that has closed its sending side gets all its answers, and then the connection ends (${first} of 51 requests sent at first) (C2.10)`, async () => {
          const { answerHeld } = holding(listening)
          const { client } = await listening.openWith(get('/held') + get('/x').repeat(first - 1))
          client.end(get('/x').repeat(51 - first))
          await listening.answeredElsewhere(3)
          const all = text(client)
          await answerHeld()
          assert.equal(bodies(await all).length, 51)
        })

      test('a client that closes its sending side instead of sending its body is told so (C2.10)', async () => {
        holding(listening)
        const { client } = await listening.openWith(head('POST /a', 'Content-Length: 4'))
        client.end()
        assert.deepEqual(statuses(await text(client)), [400])
      })

      test('a client that leaves while its request is worked on is noticed at once (C37)', async () => {
        for (const leave of ['reset', 'destroy'] as const) {
          const { held } = holding(listening)
          const { client, served } = await listening.openWith(post('/held', 'body'))
          await until(() => held.length > 0)
          let gone = 0
          for (const exchange of held) exchange.onGone = () => gone++
          if (leave === 'reset') listening.reset(client)
          else client.destroy()
          // A client that ends its side may still wait for the answer, so only a reset says that it has gone.
          if (leave === 'reset') await until(() => gone > 0)
          else await listening.answeredElsewhere(2)
          assert.equal(gone, leave === 'reset' ? 1 : 0)
          served.destroy()
          await until(() => gone > 0)
          assert.equal(gone, 1)
          // Whoever finds out too late does no harm.
          assert.equal(held[0]?.send(200, { 'content-length': 1 }, 'x'), 0)
        }
      })

      test('nobody waits for the body of a client that has left, whenever it is asked for (C37)', async () => {
        const { held } = holding(listening)
        const fields = ['Content-Length: 100000', 'Expect: 100-continue']
        const { client, served } = await listening.openWith(head('POST /held', ...fields))
        await until(() => held.length > 0)
        listening.reset(client)
        await until(() => served.destroyed)
        await turns(2)
        await assert.rejects(async () => held[0]?.body(() => true), { code: 'invalidHttp' })
      })

      test('an answer that its client does not read is counted until it is read, or never will be (C37)', async () => {
        let unread = 0
        const answered: number[] = []
        listening.serve = exchange => {
          const content = '.'.repeat(exchange.url === '/long' ? 16 * mebibyte : 1)
          const waiting = exchange.send(200, { 'content-length': content.length }, content)
          answered.push(waiting)
          unread += waiting
          if (waiting > 0)
            exchange.onRead = () => {
              unread -= waiting
            }
        }
        const both = await listening.openWith(get('/a'), get('/b'))
        await until(() => unread === 0)
        both.client.pause()
        await listening.send(both, get('/long'))
        await until(() => answered.length === 3)
        await turns(5)
        assert.ok(unread > mebibyte, `${unread} bytes are unread`)
        both.client.resume()
        await until(() => unread === 0)
        await listening.send(both, get('/c'))
        await until(() => answered.length === 4 && unread === 0)
        both.client.pause()
        await listening.send(both, get('/long'))
        await until(() => unread > mebibyte)
        listening.reset(both.client)
        await until(() => unread === 0)
      })

      const streaming = async (
        request: string,
      ): Promise<{ client: Socket; served: Socket; exchange: Exchange; stream: AnswerStream }> => {
        const exchanges: Exchange[] = []
        listening.serve = exchange => exchanges.push(exchange)
        const both = await listening.openWith(request)
        await until(() => exchanges.length > 0)
        const [exchange] = exchanges
        assert.ok(exchange)
        return { ...both, exchange, stream: exchange.stream(200, { 'content-type': 'text/plain' }) }
      }

      test('an answer of unknown length is sent in chunks, and then the connection goes on (C37)', async () => {
        const { client, exchange, stream } = await streaming(get('/stream'))
        const got = reading(client)
        await stream.write('one')
        // Nothing would be read as the end.
        await stream.write('')
        await stream.write('zwölf')
        assert.throws(() => exchange.send(200, {}, 'again'))
        stream.end()
        stream.end()
        await until(() => got.text.endsWith('0\r\n\r\n'))
        assert.match(got.text, /\r\ntransfer-encoding: chunked\r\n/i)
        assert.equal(unchunked(got.text), 'onezw\xc3\xb6lf')
        listening.serve = answerWith(() => '[next]')
        client.write(get('/next'))
        await until(() => got.text.endsWith('[next]'))
      })

      test('a client that does not read what is streamed to it holds little, and gets all of it when it reads (C37)', async () => {
        const { client, served, stream } = await streaming(get('/stream'))
        client.pause()
        const piece = 'x'.repeat(16_384)
        let written = 0
        let isStopping = false
        const listeners = (): number => served.listenerCount('close') + served.listenerCount('drain')
        const before = listeners()
        const all = (async () => {
          while (!isStopping) {
            await stream.write(piece)
            written += piece.length
            assert.ok(served.writableLength < 300_000, `${served.writableLength} bytes wait`)
          }
          stream.end()
        })()
        let last = -1
        while (last !== written) {
          last = written
          await turns(50)
        }
        isStopping = true
        const got = reading(client.resume())
        await all
        await until(() => got.text.endsWith('0\r\n\r\n'))
        assert.equal(unchunked(got.text).length, written)
        assert.ok(listeners() <= before + 1, 'nobody goes on listening')
      })

      for (const leaves of ['reset', 'silent'] as const)
        test(`a client that does not read what is streamed to it ends that when it ${leaves === 'reset' ? 'leaves' : 'stays silent'} (C37)`, async () => {
          const { client, served, exchange, stream } = await streaming(get('/stream'))
          let isGone = false
          exchange.onGone = () => {
            isGone = true
          }
          client.pause()
          let isWaiting = false
          const writing = (async () => {
            while (!isGone) {
              isWaiting = true
              await stream.write('x'.repeat(mebibyte))
              isWaiting = false
            }
            stream.end()
          })()
          while (!isWaiting || served.writableLength === 0) await turns(20)
          if (leaves === 'reset') listening.reset(client)
          else served.emit('timeout')
          await writing
          assert.ok(served.destroyed)
        })

      test('a stream that has nothing to say for a while goes on (C37)', async () => {
        const { client, served, stream } = await streaming(get('/stream'))
        const got = reading(client)
        await stream.write('one')
        await until(() => served.writableLength === 0)
        await turns(2)
        served.emit('timeout')
        await stream.write('two')
        stream.end()
        await until(() => got.text.endsWith('0\r\n\r\n'))
      })

      test('a client of HTTP/1.0 gets a stream without chunks, up to the end of its connection (C37)', async () => {
        const { client, stream } = await streaming('GET /stream HTTP/1.0\r\n\r\n')
        const all = text(client)
        await stream.write('one')
        await stream.write('two')
        stream.end()
        const answer = await all
        assert.match(answer, /\r\nConnection: close\r\n/i)
        assert.ok(answer.endsWith('\r\n\r\nonetwo'))
      })

      test('a request is answered once; an answer that cannot be sent leaves room for a problem (C2.17)', async () => {
        let faults = 0
        listening.serve = exchange => {
          try {
            exchange.send(200, { location: 'a\r\nb: c', 'content-length': 0 })
          } catch (error) {
            faults++
            sendProblem(exchange, error)
          }
          assert.throws(() => exchange.send(200, { 'content-length': 0 }))
        }
        const { client } = await listening.openWith(get('/a'))
        const got = reading(client)
        await until(() => got.text.includes('"status":500'))
        await turns(5)
        assert.equal(faults, 1)
        assert.deepEqual(statuses(got.text), [500])
        assert.doesNotMatch(got.text, /^b: c/m)
      })

      test('a request of which nothing can be said ends its connection (C2.17)', async () => {
        listening.serve = exchange => exchange.abandon()
        const { client } = await listening.open()
        client.write(get('/a'))
        assert.equal(await text(client).catch(() => ''), '')
      })

      test('an answer has the Date, and says how long the connection is kept (C4.1)', async () => {
        const { client } = await listening.openWith(get('/a'))
        const [answer] = await once(client, 'data')
        assert.match(answer, /\r\nDate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/)
        assert.match(answer, /\r\nConnection: keep-alive\r\nKeep-Alive: timeout=72\r\n/)
      })

      const idle: readonly { name: string; send?: string; isEnded: boolean }[] = [
        { name: 'that has sent nothing is closed', isEnded: true },
        { name: 'that was answered is closed', send: get('/a'), isEnded: true },
        { name: 'whose client does not read its answer is closed', send: get('/long'), isEnded: true },
        { name: 'whose request is still worked on stays open', send: get('/held'), isEnded: false },
      ]
      for (const { name, send, isEnded } of idle)
        test(`a connection ${name} when nothing has moved on it for longer than Keep-Alive announced (docs/running.md)`, async () => {
          const { answerHeld } = holding(listening)
          const { client, served } = await listening.open()
          assert.equal(served.timeout, pace.idleMs + pace.idleGraceMs)
          if (send !== undefined) {
            client.write(send)
            if (isEnded) await once(client, 'readable')
            else await until(() => served.bytesRead > 0)
          }
          served.emit('timeout')
          assert.equal(served.destroyed, isEnded)
          if (isEnded) return
          const got = reading(client)
          await answerHeld()
          await until(() => bodies(got.text).length === 1)
        })

      for (const [what, bytes] of [
        ['half a head', get('/a').slice(0, -2)],
        ['half a body', `${head('POST /a', 'Content-Length: 9')}{`],
        ['half a chunk', `${head('POST /a', 'Transfer-Encoding: chunked')}9\r\n{`],
      ] as const)
        test(`a request has a minute to arrive; ${what} is then refused with 408 (docs/running.md)`, async () => {
          const { client, served } = await listening.openWith(get('/before'), bytes)
          const got = reading(client)
          await until(() => served.bytesRead >= get('/before').length + bytes.length)
          passSilently(pace.bodyFollowsMs, served)
          await turns(5)
          listening.now = pace.requestArrivalMs
          mock.timers.tick(pace.arrivalCheckMs)
          await turns(5)
          assert.ok(!got.text.includes('408'))
          listening.now++
          mock.timers.tick(pace.arrivalCheckMs)
          await until(() => got.hasEnded)
          assert.match(
            got.text,
            /HTTP\/1\.1 408 .*\r\nConnection: close\r\n.*"The request did not arrive in time\."/s,
          )
          assert.deepEqual(statuses(got.text).at(-1), 408)
        })

      test('the minute of a request begins when its first byte comes, however long the one before it took (docs/running.md)', async () => {
        const { answerHeld } = holding(listening)
        const { client } = await listening.openWith(get('/held') + get('/late').slice(0, -2))
        const got = reading(client)
        listening.now = 10 * pace.requestArrivalMs
        mock.timers.tick(pace.arrivalCheckMs)
        await answerHeld()
        await until(() => bodies(got.text).length === 1)
        await turns(5)
        mock.timers.tick(pace.arrivalCheckMs)
        client.write('\r\n')
        await until(() => bodies(got.text).length === 2)
      })

      for (const [isWanted, isAsked] of [
        [true, true],
        [false, false],
      ])
        test(`a body that is to be asked for ${isAsked ? 'is asked for when it is wanted' : 'and is not wanted is not asked for, and the connection ends'} (C3.1)`, async () => {
          listening.serve = exchange => {
            if (isWanted) answerWith((_exchange, body) => `[${body}]`)(exchange)
            else exchange.send(401, { 'content-length': 0 })
          }
          const { client } = await listening.openWith(
            head('POST /a', 'Content-Length: 4', 'Expect: 100-continue'),
          )
          const got = reading(client)
          await until(() => statuses(got.text).length > 0)
          assert.equal(statuses(got.text)[0], isAsked ? 100 : 401)
          if (isAsked) client.end('body')
          else await until(() => client.readableEnded)
          client.end()
          await until(() => got.hasEnded)
          assert.deepEqual(bodies(got.text), isAsked ? ['body'] : [])
        })

      for (const [what, bytes, expected] of [
        ['something that is not HTTP', 'XX\r\n\r\n', 400],
        ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', 405],
        ['two lengths', head('POST /a', 'Content-Length: 1', 'Transfer-Encoding: chunked'), 400],
        ['a body with a broken chunk', `${head('POST /b', 'Transfer-Encoding: chunked')}no length\r\n`, 400],
        ['a head that is too large', get('/', `X: ${'x'.repeat(20_000)}`), 431],
      ] as const)
        test(`${what} is refused in its turn; nothing behind it is read; a client that is silent or leaves is disconnected (C2.10)`, async () => {
          for (const then of ['is silent', 'leaves', 'resets'] as const) {
            const { begun, answerHeld } = holding(listening)
            const { client, served } = await listening.openWith(get('/held') + bytes + get('/hidden'))
            const got = reading(client)
            await listening.answeredElsewhere()
            assert.equal(got.text, '')
            await answerHeld()
            await until(() => statuses(got.text).length === 2)
            assert.deepEqual(statuses(got.text), [200, expected])
            assert.match(got.text, /\r\nConnection: close\r\n/i)
            assert.ok(!begun.includes('/hidden'))
            await until(() => served.writableFinished)
            if (then === 'leaves') client.end('unwanted')
            else if (then === 'resets') listening.reset(client)
            else if (!served.destroyed) served.emit('timeout')
            await until(() => served.destroyed)
          }
        })

      test('a client that is refused while it leaves harms nobody (C2.10)', async () => {
        const { answerHeld } = holding(listening)
        const { client, served } = await listening.openWith(
          `${get('/held')}CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n`,
        )
        listening.reset(client)
        await answerHeld()
        await until(() => served.destroyed)
        await listening.answeredElsewhere()
      })

      test('when the service stops, connections end after their next answer, or soon if nothing is asked (C2.10)', async () => {
        const { held, answerHeld } = holding(listening)
        const silent = await listening.open()
        const asked = await listening.openWith(get('/a'))
        const asking = await listening.openWith(get('/a'))
        const busy = await listening.openWith(get('/held'))
        await until(() => held.length === 1)
        const all = [silent, asked, asking, busy].map(({ client }) => reading(client))
        await until(() => bodies(`${all[1]?.text}${all[2]?.text}`).length === 2)
        const closed = listening.listener.close()
        passSilently(pace.lastRequestMs - 1, silent.served, asked.served)
        assert.ok(!silent.served.destroyed && !asked.served.destroyed)
        asking.client.write(get('/held') + get('/never'))
        await until(() => held.length === 2)
        passSilently(pace.lastRequestMs, silent.served, asked.served, asking.served, busy.served)
        await answerHeld()
        await until(() => all.every(({ hasEnded }) => hasEnded))
        for (const { client } of [silent, asked, asking, busy]) client.end()
        assert.deepEqual(
          all.map(({ text }) => bodies(text)),
          [[], ['/a'], ['/a', '/held'], ['/held']],
        )
        for (const got of all.slice(2))
          assert.match(got.text, /\r\nConnection: close\r\n([^[]*\r\n)?\r\n\[\/held\]$/)
        await closed
      })

      test('when the service stops, a client that closes nothing, reads slowly or sends on holds it up only until it has its answer (C36.2)', async () => {
        holding(listening)
        const { client, served } = await listening.openWith(get('/long'))
        client.pause()
        const closed = listening.listener.close()
        passSilently(pace.lastRequestMs, served)
        assert.ok(!served.destroyed)
        const got = reading(client.resume())
        await until(() => got.text.length > 8 * mebibyte)
        await until(() => {
          passSilently(pace.lastRequestMs, served)
          return served.destroyed
        })
        await closed
      })

      test('a connection that is accepted while the service stops is closed soon (C36.2)', async () => {
        const { served, client } = await listening.open()
        const closed = listening.listener.close()
        client.write(get('/half').slice(0, -2))
        await until(() => served.bytesRead > 0)
        await turns(3)
        passSilently(pace.lastRequestMs, served)
        await closed
      })

      test('nothing grows: requests leave nothing on their connection, and a connection that has closed is forgotten (docs/testing.md)', async () => {
        holding(listening)
        const both = await listening.openWith(get('/a'))
        const got = reading(both.client)
        const listeners = (): number =>
          both.served.eventNames().reduce((count, name) => count + both.served.listenerCount(name), 0)
        await until(() => bodies(got.text).length === 1)
        await turns(2)
        const before = listeners()
        for (let count = 2; count < 30; count++) {
          both.client.write(count % 2 === 0 ? get('/a') : post('/b', 'x'.repeat(9_000)))
          await until(() => bodies(got.text).length === count)
        }
        await turns(2)
        assert.ok(listeners() <= before, `${listeners()} listeners instead of ${before}`)
        both.client.destroy()
        await once(both.served, 'close')
        await turns(2)
        const touched = mock.method(both.served, 'setTimeout')
        await listening.listener.close()
        assert.equal(touched.mock.callCount(), 0)
      })
    })

for (const wire of wires)
  describe(`the hand-over from the strict reader to Node's parser, over ${wire}`, () => {
    const listening = new Listening(wire, true)
    /** Who has read each request, with its body. */
    const noting = (): string[] => {
      const read: string[] = []
      listening.serve = exchange => {
        const by = exchange instanceof PlainExchange ? 'strict' : 'node'
        answerWith((_exchange, body) => {
          read.push(`${by} ${body.length > 100 ? body.length : body}`)
          return 'x'
        })(exchange)
      }
      return read
    }

    test('plain requests are read strictly; anything else, and all that follows on the connection, is read by Node (C2.10)', async () => {
      const read = noting()
      const both = await listening.open()
      reading(both.client)
      for (const [count, bytes] of [
        post('/', 'a'),
        post('/', 'b'),
        post('/', 'c', 'TE: trailers'),
        post('/', 'd'),
      ].entries()) {
        both.client.write(bytes)
        await until(() => read.length > count)
      }
      assert.deepEqual(read, ['strict a', 'strict b', 'node c', 'node d'])
    })

    const headOf = (length: number): string => head('POST /', `Content-Length: ${length}`)
    const likeHead = '..Host: vault\r\nContent-Length: 37\r\n\r\n'
    for (const [name, pieces, expected] of [
      ['behind its head', [headOf(4), 'body'], 'strict body'],
      ['in two pieces behind its head', [headOf(4), 'bo', 'dy'], 'node body'],
      ['that ends like a head', [headOf(37), likeHead], `strict ${likeHead}`],
      ['too long to wait for', [headOf(8_193), 'x'.repeat(8_193)], 'node 8193'],
    ] as const)
      test(`a body ${name} is its request's, and so is the next one (C2.10)`, async () => {
        const read = noting()
        const both = await listening.openWith(...pieces)
        reading(both.client)
        await until(() => read.length === 1)
        await listening.send(both, headOf(4))
        both.client.write('next')
        await until(() => read.length === 2)
        assert.deepEqual(read, [expected, expected.startsWith('strict') ? 'strict next' : 'node next'])
      })

    test('a head whose body does not follow is read by Node soon, which may refuse it (C3.1)', async () => {
      let begun = 0
      listening.serve = exchange => {
        begun++
        exchange.send(401, { 'content-length': 0 })
      }
      const { client } = await listening.openWith(headOf(4))
      const got = reading(client)
      mock.timers.tick(pace.bodyFollowsMs - 1)
      await turns(5)
      assert.equal(begun, 0)
      mock.timers.tick(1)
      await until(() => statuses(got.text).join() === '401')
      assert.equal(begun, 1)
    })

    test('nothing grows: a client that leaves before its body is forgotten (docs/testing.md)', async () => {
      const { client, served } = await listening.openWith(headOf(4))
      const closed = new Promise(resolve => served.on('close', resolve))
      listening.reset(client)
      await closed
      const touched = mock.method(served, 'setTimeout')
      mock.timers.tick(pace.bodyFollowsMs)
      assert.equal(touched.mock.callCount(), 0)
    })
  })
