import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { permissionsByType } from '../../src/domain/access/permissions.ts'
import type { LogRecord } from '../../src/domain/acts/block.ts'
import type { ServiceSettings } from '../../src/service.ts'
import type { TestReply } from '../rig/answers.ts'
import { makeReply } from '../rig/answers.ts'
import { certificate } from '../rig/certificates.ts'
import { answerBytes, Destination, ok } from '../rig/destination.ts'
import { DnsServer } from '../rig/dns-server.ts'
import { engines } from '../rig/engines.ts'
import { httpRequest } from '../rig/http-request.ts'
import { recordsOfTenant } from '../rig/log-records.ts'
import { owner, TestVault } from '../rig/test-vault.ts'

const ca = certificate('Test CA')
const name = 'api.partner.example'
const card = '4012888888881881'
const text = 'sesame, open: "now" & 100%\r\n😀'

const rule = (permissions: readonly string[], more: object = {}) => ({
  priority: 1,
  container: '/',
  transform: 'mask',
  permissions,
  ...more,
})

const applications = {
  owner,
  manager: { type: 'management', permissions: permissionsByType.management },
  /** May use tokens and read none. */
  blind: { rules: [rule(['token:use'])] },
  /** May use tokens and read them. */
  seeing: {
    rules: [rule(['token:use', 'token:read', 'token:create'], { transform: 'reveal' })],
  },
  /** May use tokens of one container only. */
  narrow: { rules: [rule(['token:use'], { container: '/general/' })] },
  none: { permissions: ['token:read'] },
} as never

type Who = 'owner' | 'manager' | 'blind' | 'seeing' | 'narrow' | 'none'
type Asked = {
  readonly method?: string
  readonly path?: string
  readonly who?: Who | null
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly proxyKey?: string
}

const tokensOf = (record: LogRecord | undefined): Record<string, unknown>[] =>
  (record?.tokens ?? []) as Record<string, unknown>[]

for (const engine of engines)
  describe(`the proxy (${engine.name})`, () => {
    let dns: DnsServer
    let destination: Destination
    let vault: TestVault
    let tenantId: string
    let keys: Record<Who, string>
    let token: { card: string; text: string }

    before(async () => {
      dns = await DnsServer.start()
      destination = await Destination.start(certificate(name, ca))
      dns.set(name, { a: ['127.0.0.1'] })
      const settings: Partial<ServiceSettings> = {
        outbound: {
          allow: [{ network: '127.0.0.1', port: destination.port }],
          deny: [],
          ports: [destination.port, 1],
          dns: [dns.address],
          ca: ca.cert,
          ownHost: undefined,
        },
      }
      vault = await TestVault.start({ engine, settings })
      const tenant = await vault.tenant(applications)
      tenantId = tenant.tenantId
      keys = tenant.keys as Record<Who, string>
      const data = { number: card, expiration_month: 12, expiration_year: 2030, cvc: '123' }
      token = {
        card: (await vault.create(keys.owner, { type: 'card', data })).id,
        text: (await vault.create(keys.owner, { type: 'token', data: text })).id,
      }
    })
    after(async () => {
      await vault.stop()
      destination.stop()
      dns.stop()
    })
    beforeEach(() => {
      destination.reply = ok('fine')
      destination.requests.length = 0
    })

    const base = (): string => `https://${name}:${destination.port}/v1`
    const newProxy = async (more: object = {}): Promise<{ id: string; key: string }> =>
      vault
        .post('/proxies', keys.manager, { name: 'Partner', destination_url: base(), ...more })
        .then(({ status, body, text }) => {
          assert.equal(status, 201, text)
          return body
        })

    const ask = async ({
      method = 'POST',
      path = '/proxy',
      who = 'blind',
      headers = {},
      body,
      proxyKey,
    }: Asked = {}): Promise<TestReply> => {
      const hasWho = who !== null && headers['svc-api-key'] === undefined
      const reply = await httpRequest(vault.baseUrl, {
        method,
        target: path,
        headers: {
          ...(hasWho && { 'svc-api-key': keys[who] }),
          ...(proxyKey !== undefined && { 'svc-proxy-key': proxyKey }),
          ...headers,
        },
        ...(body !== undefined && { body }),
      })
      assert.equal(reply.headers.get('cache-control'), 'no-store')
      assert.ok(reply.headers.get('svc-trace-id'))
      return makeReply(reply.status, reply.headers, reply.text)
    }

    /** Those of one request, in their order: several writers may have stored them. */
    const recordsOf = async (trace: string | null): Promise<LogRecord[]> =>
      (await recordsOfTenant(vault.service.vault, tenantId))
        .filter(record => record.trace_id === trace)
        .sort((one, other) => (one.id < other.id ? -1 : 1))

    /** The proxy's own error, and nothing that reached the destination. */
    const refused = async (asked: Asked, status: number, code: string, reached = 0): Promise<TestReply> => {
      const { length } = destination.requests
      const reply = await ask(asked)
      assert.equal(reply.status, status, reply.text)
      assert.equal(reply.body?.proxy_error?.code ?? reply.body?.code, code, reply.text)
      const isOwn = reply.body.proxy_error !== undefined
      assert.equal(reply.headers.get('svc-proxy-error'), isOwn ? code : null)
      if (isOwn)
        assert.deepEqual([Object.keys(reply.body), reply.body.proxy_error.status], [['proxy_error'], status])
      assert.equal(destination.requests.length - length, reached)
      return reply
    }

    describe('a request that goes on', () => {
      let proxy: { id: string; key: string }
      before(async () => {
        proxy = await newProxy()
      })

      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])
        test(`${method} goes on with its path, query and body, and the answer comes back (U10.1, U10.5, U13.4)`, async () => {
          destination.reply = answerBytes(method === 'HEAD' ? '' : '{"done":true}', {
            status: '418 Whatever',
            headers: ['Content-Type: application/json', 'X-Kept: yes'],
          })
          const hasBody = !['GET', 'HEAD', 'DELETE'].includes(method)
          const reply = await ask({
            method,
            path: '/proxy/charges/a%20b/?x=1&x={{1}}&unknown',
            proxyKey: proxy.key,
            ...(hasBody && { body: '{"a":1.0}', headers: { 'content-type': 'application/json' } }),
          })
          assert.equal(reply.status, 418)
          assert.equal(reply.headers.get('svc-proxy-destination-status'), '418')
          assert.equal(reply.headers.get('svc-proxy-error'), null)
          assert.equal(reply.headers.get('x-kept'), 'yes')
          assert.equal(reply.text, method === 'HEAD' ? '' : '{"done":true}')
          const [request] = destination.requests
          assert.equal(request?.line, `${method} /v1/charges/a%20b/?x=1&x={{1}}&unknown HTTP/1.1`)
          assert.equal(request?.body.toString(), hasBody ? '{"a":1.0}' : '')
        })

      test('a request with an idempotency key goes on each time, like one without (§4.11.8)', async () => {
        const body = '{"a":1}'
        const headers = { 'content-type': 'application/json', 'svc-idempotency-key': 'once' }
        for (let n = 1; n <= 2; n++) {
          assert.equal((await ask({ proxyKey: proxy.key, headers, body })).status, 200)
          assert.equal(destination.requests.length, n)
        }
      })

      test('other methods and upgrades are refused (U10.1)', async () => {
        const reply = await ask({ method: 'OPTIONS', proxyKey: proxy.key })
        assert.deepEqual([reply.status, destination.requests.length], [405, 0])
      })

      test('headers go out as U13 says, and come back as it says (U13.1, U13.2, U13.3)', async () => {
        destination.reply = answerBytes('x', {
          headers: [
            'Set-Cookie: a=b',
            'Strict-Transport-Security: max-age=1',
            'Alt-Svc: h3=":443"',
            'Clear-Site-Data: "*"',
            'Access-Control-Allow-Origin: *',
            'SVC-PROXY-ERROR: tls_failed',
            'Proxy-Authenticate: Basic',
            'Connection: x-hop',
            'X-Hop: 1',
            'Cache-Control: public, max-age=9',
            'X-Twice: 1',
            'X-Twice: 2',
          ],
        })
        const reply = await ask({
          method: 'GET',
          proxyKey: proxy.key,
          headers: {
            authorization: 'Bearer partner',
            'x-leak': `key ${keys.blind}`,
            'x-proxy-leak': proxy.key,
            cookie: 'a=b',
            forwarded: 'for=1.2.3.4',
            'x-forwarded-for': '1.2.3.4',
            'x-real-ip': '1.2.3.4',
            'cf-ray': '1',
            'svc-anything': '1',
            te: 'trailers',
            'proxy-authorization': 'Basic x',
            connection: 'keep-alive, x-mine',
            'x-mine': '1',
            'accept-encoding': 'br',
            via: '1.0 edge',
          },
        })
        assert.deepEqual(
          destination.requests[0]?.headers.map(([header, value]) => [header.toLowerCase(), value]),
          [
            ['host', `${name}:${destination.port}`],
            ['authorization', 'Bearer partner'],
            ['accept-encoding', 'identity'],
            ['via', '1.0 edge, 1.1 strongroom'],
          ],
        )
        assert.deepEqual([...reply.headers.keys()].sort(), [
          'cache-control',
          'connection',
          'content-length',
          'date',
          'keep-alive',
          'svc-audit',
          'svc-proxy-destination-status',
          'svc-trace-id',
          'x-twice',
        ])
        assert.equal(reply.headers.get('x-twice'), '1, 2')
      })

      test('a request that has come through a vault is refused (U13.2)', async () => {
        await refused(
          { proxyKey: proxy.key, headers: { via: '1.1 edge, 1.1 Strongroom' } },
          400,
          'destination_invalid',
        )
      })

      for (const path of [
        '/..',
        '/../x',
        '/%2e%2E/x',
        '/a/./b',
        '//x',
        '/x//y',
        '/a%2fb',
        '/a%5Cb',
        '/a%00',
        '/..;/x',
      ])
        test(`the suffix ${path} is refused (U10.6)`, async () => {
          await refused({ path: `/proxy${path}`, proxyKey: proxy.key }, 400, 'destination_invalid')
        })

      test('301 to another place is passed back (U13.4)', async () => {
        destination.reply = answerBytes('', {
          status: '301 Moved',
          headers: ['Location: http://169.254.169.254/'],
        })
        const reply = await ask({ proxyKey: proxy.key })
        assert.deepEqual([reply.status, reply.headers.get('location')], [301, 'http://169.254.169.254/'])
      })

      test('two records say what happened: one before its first byte, one afterwards (L4.6, U20.1)', async () => {
        destination.reply = answerBytes('no', { status: '402 Payment Required' })
        const reply = await ask({
          proxyKey: proxy.key,
          body: 'four',
          headers: { 'content-type': 'text/plain' },
        })
        const trace = reply.headers.get('svc-trace-id')
        const records = await recordsOf(trace)
        const [sending, done] = records
        assert.deepEqual(
          records.map(({ operation, result, status }) => [operation, result, status]),
          [
            ['proxy.sending', 'allowed', undefined],
            ['proxy.done', 'allowed', 402],
          ],
        )
        const origin = `https://${name}:${destination.port}`
        assert.deepEqual(sending?.destination, { origin, proxy_id: proxy.id })
        assert.equal(sending?.entity_id, proxy.id)
        assert.equal(sending?.id, reply.headers.get('svc-audit'))
        assert.deepEqual(done?.destination, {
          origin,
          proxy_id: proxy.id,
          status: 402,
          received: 2,
          sent: 4,
          ms: 0,
        })
      })

      test("who waits for a destination holds no room for bodies and stands in nobody else's way (U16.4)", async () => {
        const held: { write(answer: Buffer): void }[] = []
        destination.reply = socket => held.push(socket)
        const asked = {
          proxyKey: proxy.key,
          body: 'x'.repeat(1 << 14),
          headers: { 'content-type': 'text/plain' },
        }
        const waiting: ReturnType<typeof ask>[] = []
        let ended = 0
        // A few connections at a time: each must be there within five seconds, on a busy machine too.
        while (waiting.length < 64) {
          for (let n = 0; n < 8; n++) waiting.push(ask(asked).finally(() => ended++))
          while (held.length + ended < waiting.length) await new Promise(resolve => setTimeout(resolve, 5))
        }
        assert.equal(ended, 0)
        const busy = await ask(asked)
        assert.deepEqual([busy.status, busy.headers.get('svc-proxy-error')], [503, 'proxy_busy'])
        assert.equal(vault.service.memory.held, 0)
        await vault.create(keys.owner, { type: 'token', data: 'beside' })
        for (const socket of held) socket.write(ok('at last'))
        const texts = (await Promise.all(waiting)).map(({ text }) => text)
        assert.deepEqual([...new Set(texts)], ['at last'])
        assert.equal(vault.service.vault.outbound.inFlight, 0)
      })

      test('long tokens count as memory while their request waits for a destination (C37.4)', async () => {
        const data = 'y'.repeat(300_000)
        const { id } = await vault.create(keys.owner, { type: 'token', data, containers: ['/pci/high/'] })
        const held: number[] = []
        destination.reply = socket => {
          held.push(vault.service.memory.held)
          socket.write(ok('fine'))
        }
        const body = JSON.stringify(`{{ ${id} }}`)
        const headers = { 'content-type': 'application/json' }
        const reply = await ask({ proxyKey: proxy.key, body, headers })
        assert.equal(reply.status, 200)
        const [bytes = 0] = held
        assert.ok(bytes > 300_000 && bytes < 400_000, `${bytes}`)
        assert.equal(vault.service.memory.held, 0)
      })

      test('nothing is sent if the record cannot be stored (U20.1)', async () => {
        const { commit } = vault.store
        vault.store.commit = () => Promise.reject(new Error('the disk is full'))
        try {
          const { length } = destination.requests
          const reply = await ask({ proxyKey: proxy.key })
          assert.ok(reply.status >= 500)
          assert.equal(destination.requests.length, length)
        } finally {
          vault.store.commit = commit
          // Records that were refused are tried again; until they are stored, the tenant is refused as well.
          await vault.service.vault.acts.flush()
        }
      })
    })

    describe('who may', () => {
      test('a proxy is named by its key; unknown ones and those of others are 404, without any key 401 (U10.2, U15.5)', async () => {
        const proxy = await newProxy()
        const other = await vault.tenant(applications)
        await refused(
          { proxyKey: proxy.key, headers: { 'svc-api-key': (other.keys as Record<Who, string>).blind } },
          404,
          'not_found',
        )
        const last = proxy.key.endsWith('x') ? 'y' : 'x'
        await refused({ proxyKey: `${proxy.key.slice(0, -1)}${last}` }, 404, 'not_found')
        await refused({ proxyKey: proxy.key, who: null }, 401, 'unauthorized')
        await refused({ proxyKey: proxy.key, headers: { 'svc-api-key': 'nonsense' } }, 401, 'unauthorized')
        await refused({ path: `/proxy?svc-proxy-key=${proxy.key}` }, 404, 'not_found')
      })

      test('without token:use nothing is sent (U15.2)', async () => {
        const proxy = await newProxy()
        await refused({ proxyKey: proxy.key, who: 'none' }, 403, 'permission_denied')
        await refused({ proxyKey: proxy.key, who: 'owner' }, 403, 'permission_denied')
      })

      test('a proxy that needs no API key lends its own application, and its key may come in the query (U10.3)', async () => {
        const { body } = await vault.get('/applications/key', keys.blind)
        const proxy = await newProxy({ require_auth: false, application: { id: body.id } })
        const inHeader = await ask({ who: null, proxyKey: proxy.key, headers: {} })
        assert.equal(inHeader.status, 200, inHeader.text)
        const inQuery = await ask({ who: null, path: `/proxy/in?a=1&svc-proxy-key=${proxy.key}&b=2` })
        assert.equal(inQuery.status, 200, inQuery.text)
        assert.equal(destination.requests[1]?.line, 'POST /v1/in?a=1&b=2 HTTP/1.1')
      })

      test('methods that a proxy does not take are refused (U18)', async () => {
        const proxy = await newProxy({ methods: ['POST'] })
        const reply = await refused({ method: 'GET', proxyKey: proxy.key }, 405, 'method_not_allowed')
        assert.equal(reply.headers.get('allow'), 'POST')
      })

      test('a destination of the caller counts only where the tenant allows it (U11.6)', async () => {
        await refused({}, 400, 'no_destination')
        const headers = { 'svc-proxy-url': base() }
        await refused({ headers }, 403, 'ephemeral_proxy_disabled')
        await vault.send('PUT', '/tenants/self', {
          key: keys.manager,
          body: { name: 'Test', settings: { disable_ephemeral_proxy: 'false' } },
        })
        const reply = await ask({ headers, path: '/proxy/x' })
        assert.equal(reply.status, 200, reply.text)
        assert.equal(destination.requests[0]?.line, 'POST /v1/x HTTP/1.1')
        for (const url of [
          'http://a.example/',
          'https://127.0.0.1/',
          'https://a.example:99/',
          'https://a/',
          'x',
        ])
          await refused({ headers: { 'svc-proxy-url': url } }, 400, 'destination_invalid')
      })
    })

    describe('values of tokens', () => {
      let proxy: { id: string; key: string }
      let foreign: string
      let expired: string
      before(async () => {
        proxy = await newProxy()
        const other = await vault.tenant({ owner })
        foreign = (await vault.create(other.keys.owner, { type: 'token', data: text })).id
        const expires_at = new Date(vault.now + 1_000).toISOString()
        expired = (await vault.create(keys.owner, { type: 'token', data: text, expires_at })).id
        vault.now += 2_000
      })
      const json = { 'content-type': 'application/json' }
      const form = { 'content-type': 'application/x-www-form-urlencoded' }
      const sent = async (asked: Asked) => {
        const reply = await ask({ proxyKey: proxy.key, ...asked })
        assert.equal(reply.status, 200, reply.text)
        const request = destination.requests.at(-1)
        assert.ok(request)
        return request
      }

      test('JSON gets the values in place of strings, and every other byte stays as it was sent (U12.3, U11.1)', async () => {
        const around = (value: string): string =>
          `{ "n":${value} ,"n":1.0,\t"big":1e400,"{{ ${token.card} }}":"\\u0041", "x":[1,2 ] }\n`
        const { body } = await sent({ headers: json, body: around(`"{{ ${token.text} }}"`) })
        assert.equal(body.toString(), around(JSON.stringify(text)))
        const path = await sent({
          headers: { 'content-type': 'application/vnd.partner+json; charset=utf-8' },
          body: `{"number":"{{ ${token.card} | json: '$.number' }}","whole":"{{ ${token.card} }}","in":"a {{${token.card} | json: '$.cvc'}} b"}`,
        })
        assert.deepEqual(JSON.parse(path.body.toString()), {
          number: card,
          whole: { number: card, expiration_month: 12, expiration_year: 2030, cvc: '123' },
          in: 'a 123 b',
        })
      })

      test('forms and headers get them too, and what is none of these passes as it is (U12.4, U12.5, U12.6)', async () => {
        const request = await sent({
          headers: { ...form, authorization: `Bearer {{ ${token.card} | json: '$.number' }}` },
          body: `a=%41+b&card=%7B%7B+${token.text}+%7D%7D&c=`,
        })
        assert.equal(new URLSearchParams(request.body.toString()).get('card'), text)
        assert.ok(request.body.toString().startsWith('a=%41+b&card='))
        assert.deepEqual(
          request.headers.find(([header]) => header === 'authorization')?.[1],
          `Bearer ${card}`,
        )
        const plain = await sent({ headers: { 'content-type': 'text/plain' }, body: `{{ ${token.text} }}` })
        assert.equal(plain.body.toString(), `{{ ${token.text} }}`)
      })

      test('what comes out of a token is not evaluated again (U3)', async () => {
        const { id } = await vault.create(keys.owner, { type: 'token', data: `{{ ${token.card} }}` })
        const { body } = await sent({ headers: json, body: `["{{ ${id} }}"]` })
        assert.equal(body.toString(), `["{{ ${token.card} }}"]`)
      })

      test('the request is in the log with its tokens, before and after (U20.1, L2)', async () => {
        const reply = await ask({ proxyKey: proxy.key, headers: json, body: `"{{ ${token.card} }}"` })
        const trace = reply.headers.get('svc-trace-id')
        const records = await recordsOf(trace)
        const [sending, done] = records
        assert.deepEqual(sending?.tokens, [
          {
            id: token.card,
            type: 'card',
            containers: ['/pci/high/'],
            permission: 'token:use',
            transform: 'mask',
            rule: 1,
          },
        ])
        assert.equal(done?.tokens, undefined)
        assert.ok(!JSON.stringify(records).includes(card))
      })

      const failing: Readonly<Record<string, [code: string, body: () => string, type?: string]>> = {
        'an id of nothing': ['token_not_found', () => '"{{ nobody }}"'],
        'a good id and one of nothing': ['token_not_found', () => `["{{ ${token.card} }}","{{ nobody }}"]`],
        'no end': ['expression_invalid', () => '"{{ x"'],
        'nothing inside': ['expression_invalid', () => '"{{ }}"'],
        'an unknown filter': ['expression_invalid', () => `"{{ ${token.card} | evil }}"`],
        'a path that leads nowhere': ['expression_invalid', () => `"{{ ${token.card} | json: '$.x' }}"`],
        'a filter that cuts': ['expression_invalid', () => `"{{ ${token.text} | slice: 0, 3 }}"`],
        'a filter that shows the end': ['expression_invalid', () => `"{{ ${token.text} | last4 }}"`],
        'a filter that encodes': ['expression_invalid', () => `"{{ ${token.text} | to_base64 }}"`],
        'a hash': ['expression_invalid', () => `"{{ ${token.text} | hmac: 'sha-256', 'key' }}"`],
        'a hash of the configuration': [
          'expression_invalid',
          () => `"{{ ${token.text} | hmac: 'sha-256', config: key }}"`,
        ],
        'the configuration': ['expression_invalid', () => '"{{ config: key }}"'],
        'the whole token': ['expression_invalid', () => `"{{ token: ${token.card} }}"`],
        'a form with one': ['token_not_found', () => 'a={{ nobody }}', form['content-type']],
        'a token of another tenant': ['token_not_found', () => `"{{ ${foreign} }}"`],
        'a token that has expired': ['token_not_found', () => `"{{ ${expired} }}"`],
        'a hundred and one tokens': [
          'expression_invalid',
          () => JSON.stringify(Array.from({ length: 101 }, (_, at) => `{{ token-${at} }}`)),
        ],
        'filters that are too long': [
          'expression_invalid',
          () => `"{{ ${token.card} ${'| stringify '.repeat(40)} }}"`,
        ],
        'an argument without quotes': ['expression_invalid', () => `"{{ ${token.card} | json: $.number }}"`],
        'a form with no end': ['expression_invalid', () => `a={{ ${token.card}`, form['content-type']],
        'no JSON': ['expression_invalid', () => `{"a": "{{ ${token.card} }}"`],
      }
      for (const [what, [code, body, type]] of Object.entries(failing))
        test(`${what}: nothing is sent, not even a connection is opened (U12.1, U15.1, U15.2)`, async () => {
          const fresh = await newProxy()
          const { connections } = destination
          const reply = await refused(
            { proxyKey: fresh.key, headers: type ? { 'content-type': type } : json, body: body() },
            400,
            code,
          )
          assert.ok(reply.body.proxy_error)
          assert.equal(destination.connections, connections)
          for (const id of ['nobody', token.card, foreign, expired]) assert.ok(!reply.text.includes(id))
          assert.equal(
            (await vault.send('DELETE', `/proxies/${fresh.id}`, { key: keys.manager })).status,
            204,
          )
        })

      test('a header that would break, another charset and an encoded body are refused (U12.5, U12.6)', async () => {
        await refused(
          { proxyKey: proxy.key, headers: { 'x-text': `{{ ${token.text} }}` } },
          400,
          'header_value_invalid',
        )
        const body = `"{{ ${token.card} }}"`
        const latin = { 'content-type': 'application/json; charset=latin1' }
        await refused({ proxyKey: proxy.key, headers: latin, body }, 415, 'unsupported_media_type')
        const gzip = { ...json, 'content-encoding': 'gzip' }
        await refused({ proxyKey: proxy.key, headers: gzip, body }, 415, 'unsupported_media_type')
        await refused(
          { proxyKey: proxy.key, headers: json, body: 'x'.repeat((1 << 20) + 1) },
          413,
          'body_too_large',
        )
      })

      test('a token is used only with token:use on its containers, for its destinations (U11.3, U11.5)', async () => {
        const asked = { proxyKey: proxy.key, headers: json, body: `"{{ ${token.card} }}"` }
        await refused({ ...asked, who: 'narrow' }, 400, 'token_not_found')
        const bound = async (destinations: string[]): Promise<string> =>
          (
            await vault.post('/applications', keys.manager, {
              name: 'bound',
              type: 'private',
              rules: [rule(['token:use'], { destinations })],
            })
          ).body.key
        const elsewhere = await bound([`https://${name}:${destination.port}/v2/`])
        await refused(
          { ...asked, headers: { ...json, 'svc-api-key': elsewhere } },
          403,
          'destination_forbidden',
        )
        const here = await bound([`https://${name}:${destination.port}/v1/`])
        const headers = { ...json, 'svc-api-key': here }
        // The destination's own path is `/v1`, which is not under `/v1/`.
        await refused({ ...asked, headers }, 403, 'destination_forbidden')
        assert.equal((await ask({ ...asked, headers, path: '/proxy/x' })).status, 200)
      })

      test('who may read a token may cut it (U11.2)', async () => {
        const { body } = await sent({
          who: 'seeing',
          headers: json,
          body: `"{{ ${token.text} | slice: 0, 6 }}"`,
        })
        assert.equal(body.toString(), '"sesame"')
        await refused(
          {
            proxyKey: proxy.key,
            who: 'seeing',
            headers: json,
            body: `"{{ ${token.text} | hmac: 'sha-256','k' }}"`,
          },
          400,
          'expression_invalid',
        )
      })

      describe('the echo guard', () => {
        const grouped = card.replace(/(.{4})(?=.)/g, '$1-')
        const echoes = (headers: readonly string[] = [], status = '200 OK'): void => {
          destination.reply = answerBytes(
            JSON.stringify({ raw: card, grouped, text, exp: 2030, cvc: '123' }),
            { status, headers: ['Content-Type: application/json', `X-Card: ${card}`, ...headers] },
          )
        }
        const body = (): string => `["{{ ${token.card} }}","{{ ${token.text} }}"]`

        for (const status of ['200 OK', '402 Payment Required', '500 Oops', '302 Found'])
          test(`what a request used is masked in an answer ${status} (U14.1)`, async () => {
            echoes([`Location: https://x.example/?card=${grouped}`], status)
            const reply = await ask({ proxyKey: proxy.key, headers: json, body: body() })
            assert.equal(reply.status, Number(status.slice(0, 3)))
            const { raw, ...rest } = reply.body
            assert.equal(raw, '*'.repeat(16))
            assert.equal(rest.grouped, '*'.repeat(19))
            assert.match(rest.text, /^\*+$/)
            assert.deepEqual([rest.exp, rest.cvc], [2030, '123'])
            assert.equal(reply.headers.get('x-card'), '*'.repeat(16))
            assert.equal(reply.headers.get('location'), `https://x.example/?card=${'*'.repeat(19)}`)
          })

        test('who may read the token gets the answer unchanged, and so does everybody where the proxy says so (U14.1, U14.2)', async () => {
          echoes()
          const seeing = await ask({ who: 'seeing', proxyKey: proxy.key, headers: json, body: body() })
          assert.deepEqual([seeing.body.raw, seeing.body.text], [card, text])
          const open = await newProxy({ echo_guard: false })
          const blind = await ask({ proxyKey: open.key, headers: json, body: body() })
          assert.deepEqual([blind.body.raw, blind.body.text], [card, text])
        })
      })

      describe('transforms of the proxy', () => {
        test('a header and a value of the configuration go out, and do not come back (U19, U14.1)', async () => {
          const secret = 'sk_live_0123456789'
          const own = await newProxy({
            configuration: { key: secret },
            request_transforms: [
              { type: 'append_header', name: 'Authorization', value: 'Bearer {{ config: key }}' },
              { type: 'append_json', location: '$.key', value: '{{ config: key }}' },
            ],
          })
          destination.reply = (socket, request) =>
            void socket.write(
              ok(`${request.headers.find(([header]) => header === 'Authorization')?.[1]} ${request.body}`),
            )
          const reply = await ask({ proxyKey: own.key, headers: json, body: '{"a":1}' })
          assert.equal(reply.text, `Bearer ${'*'.repeat(18)} {"a":1,"key":"${'*'.repeat(18)}"}`)
          assert.equal(destination.requests.at(-1)?.body.toString(), `{"a":1,"key":"${secret}"}`)
        })

        for (const status of ['200 OK', '402 Payment Required'])
          test(`what an answer ${status} brings becomes a token before anybody sees it, in the commit of its record (U19)`, async () => {
            const own = await newProxy({
              response_transforms: [
                { type: 'tokenize', token: { type: 'card_number' }, location: '$.card.number' },
                { type: 'mask', matcher: 'pan' },
              ],
            })
            const other = '5555555555554444'
            destination.reply = answerBytes(
              JSON.stringify({ card: { number: other }, note: `card ${card}!` }),
              {
                status,
                headers: ['Content-Type: application/json'],
              },
            )
            const reply = await ask({ who: 'seeing', proxyKey: own.key, headers: json, body: '{}' })
            assert.equal(reply.status, Number(status.slice(0, 3)), reply.text)
            assert.ok(!reply.text.includes(other) && !reply.text.includes(card))
            const made = await vault.get(`/tokens/${reply.body.card.number}`, keys.owner)
            assert.equal(made.body.data, other)
            const trace = reply.headers.get('svc-trace-id')
            const [, done, ...more] = await recordsOf(trace)
            assert.deepEqual(more, [])
            assert.equal(done?.operation, 'proxy.done')
            assert.deepEqual(
              tokensOf(done).map(({ id, permission }) => [id, permission]),
              [[reply.body.card.number, 'token:create']],
            )
            // The caller who may not create tokens gets nothing of it.
            const { status: refusedStatus } = await refused(
              { proxyKey: own.key, headers: json, body: '{}' },
              502,
              'response_transform_failed',
              1,
            )
            assert.equal(refusedStatus, 502)
          })
      })
    })

    describe('destinations that fail', () => {
      let proxy: { id: string; key: string }
      before(async () => {
        proxy = await newProxy({ timeout: 1 })
      })
      const own = (path: string) => newProxy({ destination_url: path })

      test('one text for all that cannot be reached (U15.1, U15.3)', async () => {
        dns.set('intern.example', { a: ['10.0.0.1'] })
        dns.set('both.example', { a: ['127.0.0.1', '127.0.0.2'] })
        const replies: TestReply[] = []
        for (const url of [
          'https://nobody.example/',
          `https://intern.example:${destination.port}/`,
          `https://both.example:${destination.port}/`,
          `https://${name}:1/`,
        ]) {
          const { key } = await own(url)
          replies.push(await refused({ proxyKey: key }, 502, 'destination_unreachable'))
        }
        const texts = replies.map(({ body }) => ({ ...body.proxy_error, trace_id: undefined }))
        for (const each of texts) assert.deepEqual(each, texts[0])
        assert.equal(texts[0].sent, false)
      })

      test('a certificate of another name is tls_failed, and silence is destination_timeout, which says that it was sent, once (U13.6, U15.1, U15.2, U15.4)', async () => {
        dns.set('other.example', { a: ['127.0.0.1'] })
        const { key } = await own(`https://other.example:${destination.port}/`)
        await refused({ proxyKey: key }, 502, 'tls_failed')
        destination.reply = () => {}
        const reply = await refused({ proxyKey: proxy.key }, 504, 'destination_timeout', 1)
        assert.equal(reply.body.proxy_error.sent, true)
        const trace = reply.headers.get('svc-trace-id')
        const records = await recordsOf(trace)
        assert.deepEqual(
          records.map(({ operation, result, status }) => [operation, result, status]),
          [
            ['proxy.sending', 'allowed', undefined],
            ['proxy.done', 'failed', 504],
          ],
        )
      })

      test('an answer that cannot be passed on is answer_invalid, with the status of the destination (U13.5, U13.6)', async () => {
        destination.reply = answerBytes('x', { status: '201 Created', headers: ['Content-Encoding: zstd'] })
        await refused({ proxyKey: proxy.key }, 502, 'answer_invalid', 1)
        destination.reply = answerBytes('x'.repeat((1 << 20) + 1), { status: '201 Created' })
        const reply = await refused({ proxyKey: proxy.key }, 502, 'answer_invalid', 1)
        assert.equal(reply.headers.get('svc-proxy-destination-status'), '201')
      })
    })
  })
