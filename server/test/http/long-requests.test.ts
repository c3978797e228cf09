import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { pace } from '../../src/domain/pace.ts'
import { cors } from '../../src/http/cors.ts'
import { idempotency } from '../../src/http/idempotency.ts'
import { loadShedding } from '../../src/http/load-shedding.ts'
import { pageRoom } from '../../src/http/page-room.ts'
import { rateLimit } from '../../src/http/rate-limit.ts'
import { buildServer } from '../../src/http/server.ts'
import { onSqliteAlone } from '../rig/every-engine.ts'
import { sendRaw } from '../rig/raw-http.ts'
import { countTokens } from '../rig/scenario.ts'
import { owner } from '../rig/test-vault.ts'

onSqliteAlone('requests with long bodies', 'they queue before storage is asked', vault => {
  const silent = { isDebug: false, error: () => {}, info: () => {}, debug: () => {} }
  /** Long requests that wait for their turn: how many a test pretends there are, and those that it sent. */
  let ahead = 0
  const waiting: { readonly bytes: number; readonly goOn: () => void }[] = []
  const isLong = (bytes: number): boolean => bytes > pace.shortBodyBytesMax

  let app: FastifyInstance
  let baseUrl: string
  let key: string
  before(async () => {
    key = (await vault().tenant({ owner })).keys.owner
    const inside = vault().service.vault
    const shedding = loadShedding(silent)
    for (let n = 0; n < pace.requestsAlwaysTaken; n++) shedding.enter()
    app = buildServer({
      vault: inside,
      log: silent,
      headerPrefix: 'svc',
      idempotency: idempotency(inside, { headerPrefix: 'svc', strict: false }),
      rateLimit: rateLimit(undefined),
      cors: cors([], 'svc'),
      shedding,
      loopTurns: {
        ahead: bytes => (isLong(bytes) ? ahead : 0),
        next: async bytes => {
          if (isLong(bytes) && ahead === 0) await new Promise<void>(goOn => waiting.push({ bytes, goOn }))
        },
      },
      pageRoom: pageRoom(),
    })
    await app.listen({ host: '127.0.0.1', port: 0 })
    baseUrl = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  })
  after(() => app.close())

  const body = JSON.stringify({ type: 'token', data: 'x'.repeat(pace.shortBodyBytesMax) })
  const create = (...fields: readonly string[]): string =>
    [
      'POST /tokens HTTP/1.1',
      'Host: vault',
      `SVC-API-KEY: ${key}`,
      'Content-Type: application/json',
      ...fields,
      '',
      '',
    ].join('\r\n')

  for (const [when, bytes] of [
    ['before its body is read, if it announces its length', () => create(`Content-Length: ${body.length}`)],
    [
      'once its body has arrived, if it does not',
      () => `${create('Transfer-Encoding: chunked')}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    ],
  ] as const)
    test(`C2.23 a long request that would wait for too many others is turned away ${when}`, async () => {
      ahead = pace.longRequestsWaiting
      const [reply] = await sendRaw(baseUrl, bytes(), { saysEnd: true })
      const [short] = await sendRaw(baseUrl, `${create('Content-Length: 2')}{}`)
      ahead = 0
      assert.deepEqual([reply?.status, reply?.headers.get('retry-after')], [503, '1'])
      assert.equal(short?.status, 400, 'a short one has nobody ahead of it')
      assert.equal(await countTokens(vault(), key), 0)
    })

  test('C2.23 C36.1 a long request is worked on when its turn comes, and others are answered meanwhile', async () => {
    // Refused as soon as anyone looks at it.
    const noJson = 'x'.repeat(body.length)
    let isAnswered = false
    const answered = sendRaw(baseUrl, create(`Content-Length: ${noJson.length}`) + noJson).finally(() => {
      isAnswered = true
    })
    while (waiting.length === 0 && !isAnswered) await new Promise(setImmediate)
    for (let n = 0; n < 3; n++) await sendRaw(baseUrl, 'GET /health HTTP/1.1\r\nHost: vault\r\n\r\n')
    const wasAnswered = isAnswered
    const [turn] = waiting.splice(0)
    turn?.goOn()
    const [reply] = await answered
    assert.deepEqual([turn?.bytes, wasAnswered, reply?.status], [noJson.length, false, 400])
  })
})
