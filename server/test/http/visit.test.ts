import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { newApiKeyText } from '../../src/crypto/api-key.ts'
import { VaultError } from '../../src/domain/errors.ts'
import { apiKeyName } from '../../src/operations/keys/authenticate.ts'
import { ByteBudget } from '../../src/scheduling/byte-budget.ts'
import { Scheduler, Work } from '../../src/scheduling/scheduler.ts'
import { onSqliteAlone } from '../rig/every-engine.ts'
import { sendRaw } from '../rig/raw-http.ts'
import { owner, type TestVault } from '../rig/test-vault.ts'

const origin = 'https://shop.example'

/** What is never so fails the test. */
const until = async (isSo: () => boolean): Promise<void> => {
  const begun = performance.now()
  while (!isSo()) {
    assert.ok(performance.now() - begun < 10_000, String(isSo))
    await nextIteration()
  }
}

/** To whom turns and bytes are charged from here on, in this order. */
const charges = (t: TestContext): { turns: unknown[]; bytes: unknown[] } => {
  const [turns, bytes]: [unknown[], unknown[]] = [[], []]
  const note = (list: unknown[], tenant: unknown, key: unknown): void => {
    const payer = [typeof tenant === 'symbol' ? tenant.description : tenant, key]
    if (JSON.stringify(payer) !== JSON.stringify(list.at(-1))) list.push(payer)
  }
  const { work } = Scheduler.prototype
  const { chargeTo } = Work.prototype
  const { account } = ByteBudget.prototype
  t.mock.method(Scheduler.prototype, 'work', function (this: Scheduler, tenant: unknown, key: unknown) {
    note(turns, tenant, key)
    return work.call(this, tenant, key)
  })
  t.mock.method(Work.prototype, 'chargeTo', function (this: Work, tenant: unknown, key: unknown) {
    note(turns, tenant, key)
    chargeTo.call(this, tenant, key)
  })
  t.mock.method(ByteBudget.prototype, 'account', function (this: ByteBudget, tenant: unknown, key: unknown) {
    note(bytes, tenant, key)
    return account.call(this, tenant, key)
  })
  return { turns, bytes }
}

/** Opens a connection and sends these bytes. */
const open = async (vault: TestVault, bytes: string): Promise<Socket> => {
  const { hostname, port } = new URL(vault.baseUrl)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {}).write(bytes)
  return socket
}

const head = (line: string, key: string | undefined, ...fields: readonly string[]): string =>
  [
    `${line} HTTP/1.1`,
    'Host: vault',
    ...(key === undefined ? [] : [`SVC-API-KEY: ${key}`]),
    ...fields,
    '',
    '',
  ].join('\r\n')
const json = 'Content-Type: application/json'
const post = (key: string | undefined, body: string, type = json): string =>
  head('POST /tokens', key, type, `Content-Length: ${body.length}`) + body

onSqliteAlone(
  'what a request takes',
  'storage makes no difference',
  started => {
    test('is charged to the address while its key is unknown, and to the key from then on, also after grants change (C37.1)', async t => {
      const vault = started()
      const { tenantId, keys } = await vault.tenant({ owner, other: owner })
      const tenant = await vault.tenantNumber(tenantId)
      const payer = (key: string): unknown => [tenant, apiKeyName(key)]
      const stranger = ['strangers', '127.0.0.1']
      const ask = async (key: string, expected: readonly unknown[]): Promise<void> => {
        const { turns, bytes } = charges(t)
        const socket = await open(vault, head('GET /tokens/none', key))
        await new Promise(resolve => socket.once('data', resolve))
        socket.destroy()
        t.mock.restoreAll()
        assert.deepEqual(turns, expected)
        assert.deepEqual(bytes, expected)
      }
      await ask(keys.owner, [stranger, payer(keys.owner)])
      await ask(keys.owner, [payer(keys.owner)])
      await ask(keys.other, [stranger, payer(keys.other)])
      await vault.tenant({ owner })
      await ask(keys.owner, [payer(keys.owner)])
      await ask(keys.other, [payer(keys.other)])
      await ask(newApiKeyText('private'), [stranger])
      await ask('no key at all', [stranger])
    })

    test('of one key is charged to one queue, however many requests it makes at once (C37.1)', async t => {
      const vault = started()
      const { tenantId, keys } = await vault.tenant({ owner })
      const tenant = await vault.tenantNumber(tenantId)
      const { turns } = charges(t)
      await Promise.all(Array.from({ length: 20 }, () => vault.get('/tokens/none', keys.owner)))
      const payers = new Set(turns.map(payer => JSON.stringify(payer)))
      assert.deepEqual(
        [...payers],
        [
          ['strangers', '127.0.0.1'],
          [tenant, apiKeyName(keys.owner)],
        ].map(payer => JSON.stringify(payer)),
      )
    })
  },
  { corsOrigins: [origin] },
)

describe('the memory that a request takes', () => {
  onSqliteAlone(
    'is given back',
    'storage makes no difference',
    started => {
      /** Returns once nothing is held any more; before that, something was. */
      const givesBack = async (t: TestContext, act: (vault: TestVault) => Promise<void>): Promise<void> => {
        const vault = started()
        const { move } = ByteBudget.prototype
        let highest = 0
        t.mock.method(
          ByteBudget.prototype,
          'move',
          function (this: ByteBudget, ...args: Parameters<ByteBudget['move']>) {
            move.apply(this, args)
            highest = Math.max(highest, this.held)
          },
        )
        await act(vault)
        await until(
          () => vault.service.memory.held === 0 && vault.service.vault.scheduler.state.waiting === 0,
        )
        // What came too late would be held for ever.
        for (let turn = 0; turn < 20; turn++) await nextIteration()
        assert.equal(vault.service.memory.held, 0)
        assert.ok(highest > 0, 'it held nothing')
      }
      const body = JSON.stringify({ type: 'token', data: 'x'.repeat(20_000) })
      const chunked = (key: string, ...chunks: readonly string[]): string =>
        head('POST /tokens', key, json, 'Transfer-Encoding: chunked') + chunks.join('')

      const answered: readonly [
        status: number,
        what: string,
        bytes: (key: string, reader: string) => string,
      ][] = [
        [201, 'a create', key => post(key, body)],
        [
          201,
          'a create in chunks',
          key => chunked(key, `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`),
        ],
        [400, 'a body that is no JSON', key => post(key, `${body}}`)],
        [401, 'a body without a key', () => post(undefined, body)],
        [401, 'a body with an unknown key', () => post(newApiKeyText('private'), body)],
        [403, 'a body without the permission', (_, reader) => post(reader, body)],
        [404, 'a body for no route', key => post(key, body).replace('/tokens', '/nowhere')],
        [
          413,
          'a body that is announced as too long',
          key => head('POST /tokens', key, json, 'Content-Length: 2000000'),
        ],
        [415, 'a body of another type', key => post(key, body, 'Content-Type: text/plain')],
        [
          204,
          'a preflight with a body',
          () =>
            `${head(
              'OPTIONS /tokens',
              undefined,
              `Origin: ${origin}`,
              'Access-Control-Request-Method: POST',
              'Content-Length: 2',
            )}{}`,
        ],
      ]
      for (const [status, what, bytes] of answered)
        test(`by ${what} (${status}) (C37.6)`, async t => {
          const { keys } = await started().tenant({ owner, reader: { permissions: ['token:read'] } })
          await started().get('/tokens/none', keys.owner)
          await givesBack(t, async vault => {
            const [reply] = await sendRaw(vault.baseUrl, bytes(keys.owner, keys.reader))
            assert.equal(reply?.status, status)
          })
        })

      test('by a body that breaks, whatever of it has come (C37.6)', async t => {
        const { keys } = await started().tenant({ owner })
        const [sound, broken] = ['5\r\n"abcd\r\n', 'no length\r\n']
        await givesBack(t, async vault => {
          const socket = await open(vault, chunked(keys.owner, sound))
          await until(() => vault.service.memory.held > 0)
          const [reply] = await sendRaw(vault.baseUrl, chunked(keys.owner, sound, broken))
          assert.equal(reply?.status, 400)
          const answered = new Promise(resolve => socket.once('data', resolve))
          socket.write(broken)
          assert.match(String(await answered), / 400 /)
          socket.destroy()
        })
      })

      test('by a request that gets no turn in time (503) (C37.6)', async t => {
        const { keys } = await started().tenant({ owner })
        t.mock.method(Scheduler.prototype, 'ask', (work: Work) => {
          setImmediate(() => work.refuse(new VaultError('overloaded')))
        })
        await givesBack(t, async vault => {
          const [reply] = await sendRaw(vault.baseUrl, post(keys.owner, body))
          assert.equal(reply?.status, 503)
          assert.equal(reply.headers.get('retry-after'), '1')
        })
      })

      test('by a request for which there is no room (503), while probes are answered (C37.4, C37.6)', async t => {
        const { keys } = await started().tenant({ owner })
        await started().get('/tokens/none', keys.owner)
        await givesBack(t, async vault => {
          const everything = (vault.service.memory as ByteBudget).account('somebody', 'else')
          everything.keep(1 << 30)
          for (const bytes of [
            post(keys.owner, body),
            chunked(keys.owner, '1\r\n1\r\n'),
            head('GET /tokens', keys.owner),
          ]) {
            const [reply] = await sendRaw(vault.baseUrl, bytes)
            assert.equal(reply?.status, 503)
            assert.equal(vault.service.memory.held, everything.held)
          }
          for (const probe of ['/health', '/ready'])
            assert.equal((await vault.send('GET', probe)).status, 200)
          everything.keep(0)
        })
      })

      test('by a client that leaves while its body is on its way (C37.5, C37.6)', async t => {
        const { keys } = await started().tenant({ owner })
        for (const bytes of [post(keys.owner, body).slice(0, -1), chunked(keys.owner, '5\r\nabcde\r\n')])
          await givesBack(t, async vault => {
            const socket = await open(vault, bytes)
            await until(() => vault.service.memory.held > 0)
            socket.resetAndDestroy()
          })
      })

      test('by a client that leaves while its request waits for a turn (C37.5, C37.6)', async t => {
        const { keys } = await started().tenant({ owner })
        let works = 0
        const { ask } = Scheduler.prototype
        const held: (() => void)[] = []
        t.mock.method(Scheduler.prototype, 'ask', function (this: Scheduler, work: Work) {
          works++
          held.push(() => ask.call(this, work))
        })
        await givesBack(t, async vault => {
          const socket = await open(vault, post(keys.owner, body))
          await until(() => works === 1 && vault.service.memory.held > 0)
          socket.resetAndDestroy()
        })
      })

      for (const way of ['reads it at last', 'leaves'] as const)
        test(`by an answer that its client does not read, once it ${way} (C37.6)`, async t => {
          const vault = started()
          const { keys } = await vault.tenant({ owner })
          const data = 'x'.repeat(700_000)
          const { id } = await vault.create(keys.owner, { type: 'token', data })
          for (let n = 0; n < 11; n++) await vault.create(keys.owner, { type: 'token', data })
          for (const [line, count] of [
            [`GET /tokens/${id}`, 20],
            ['GET /tokens', 1],
          ] as const)
            for (const fields of [[], ['TE: trailers']])
              await givesBack(t, async () => {
                // One after the other until the socket takes no more of them.
                const socket = await open(vault, head(line, keys.owner, ...fields).repeat(count))
                socket.pause()
                let calm = 0
                await until(() => {
                  calm = vault.service.memory.held > 0 ? calm + 1 : 0
                  return calm === 200
                })
                if (way === 'leaves') socket.resetAndDestroy()
                else {
                  let got = 0
                  socket.on('data', (bytes: Buffer) => {
                    got += bytes.length
                  })
                  socket.resume()
                  await until(() => vault.service.memory.held === 0 && got > 8_000_000)
                  socket.destroy()
                }
              })
        })
    },
    { corsOrigins: [origin] },
  )
})
