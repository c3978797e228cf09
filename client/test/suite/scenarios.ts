import type * as Client from '../../src/main.ts'
import { assert, rejection } from './assert.ts'

/** A real vault that the runtime can reach. The clients that scenarios make use `fetch` of the runtime. */
export type Site = {
  readonly baseUrl: string
  readonly keys: {
    readonly api_key: string
    readonly private_api_key: string
    readonly management_api_key: string
  }
}
export type Scenario = { readonly name: string; readonly run: () => Promise<void> }

type Fetch = (url: string, init: RequestInit) => Promise<Response>
type Sent = {
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly redirect: RequestInit['redirect']
}

/**
 * What the client promises, in a form that every runtime can run: no test framework, no module of Node. `client.test.ts` runs it in
 * `npm test`, and `runtimes/` elsewhere.
 */
export const scenarios = (client: typeof Client, site: Site): Scenario[] => {
  const { Vault, ExactNumber, VaultError, ConnectionError, TimedOutError, KeyTextLostError } = client
  const found: Scenario[] = []
  const scenario = (name: string, run: () => Promise<void>): void => {
    found.push({ name, run })
  }
  const unique = (): string => `client-${crypto.randomUUID()}`
  const { keys } = site
  const real: Fetch = (url, init) => fetch(url, init)

  /** A client whose waits pass at once, with what it sent and how long it would have waited. */
  const vaultWith = (apiKey: string, fetch: Fetch = real, more: Partial<Client.VaultOptions> = {}) => {
    const sent: Sent[] = []
    const waits: number[] = []
    const vault = new Vault({
      baseUrl: site.baseUrl,
      apiKey,
      fetch: (url, init) => {
        const { method = '', headers, redirect } = init
        sent.push({ url, method, headers: new Headers(headers), redirect })
        return fetch(url, init)
      },
      wait: async ms => {
        waits.push(ms)
      },
      ...more,
    })
    return { vault, sent, waits }
  }
  const general = (fetch?: Fetch, more?: Partial<Client.VaultOptions>) => vaultWith(keys.api_key, fetch, more)
  const reading = (fetch?: Fetch, more?: Partial<Client.VaultOptions>) =>
    vaultWith(keys.private_api_key, fetch, more)
  const manager = (fetch?: Fetch, more?: Partial<Client.VaultOptions>) =>
    vaultWith(keys.management_api_key, fetch, more)

  /** The first requests arrive and are answered, and the answers are lost on the way. */
  const losingAnswers = (count: number): Fetch => {
    let left = count
    return async (url, init) => {
      const response = await real(url, init)
      if (left-- <= 0) return response
      await response.text()
      throw new TypeError('fetch failed')
    }
  }
  /** Answers in turn; the last one again and again. */
  const answering =
    (...answers: (() => Response | Promise<Response>)[]): Fetch =>
    async () =>
      ((answers.length > 1 ? answers.shift() : answers[0]) ?? assert.fail)()
  const problem =
    (status: number, code: string, headers: Record<string, string> = {}) =>
    () =>
      new Response(
        JSON.stringify({ status, code, title: 't', detail: 'Something.', trace_id: 'trace-of-it' }),
        {
          status,
          headers: { 'content-type': 'application/problem+json', ...headers },
        },
      )
  const json =
    (value: unknown, status = 200, headers: Record<string, string> = {}) =>
    () =>
      new Response(JSON.stringify(value), { status, headers })
  const never: Fetch = (_, { signal }) =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))

  scenario('a token is created, read, changed and deleted', async () => {
    const id = unique()
    const { vault } = general()
    const made = await vault.tokens.create({ id, type: 'token', data: 'secret', metadata: { a: '1' } })
    assert.equal(made.id, id)
    assert.equal((await vault.tokens.update(id, { metadata: { a: null, b: '2' } })).metadata, { b: '2' })
    const { vault: reader } = reading()
    assert.equal((await reader.tokens.get(id)).data, 'secret')
    assert.equal(await reader.tokens.delete(id), undefined)
    assert.equal((await rejection(reader.tokens.get(id))).code, 'not_found')
  })

  scenario('a payload is tokenized in one request, and keeps its form', async () => {
    const { vault } = general()
    const { name, list, card, none } = await vault.tokenize({
      name: 'Ada',
      list: ['a', 7],
      card: { type: 'card', data: { number: '4242424242424242' } },
      none: null,
    })
    const { vault: reader } = reading()
    assert.equal((await reader.tokens.get(name)).data, 'Ada')
    assert.equal(await Promise.all(list.map(async id => (await reader.tokens.get(id)).data)), ['a', 7])
    assert.equal([card.type, card.mask, none], ['card', { number: 'XXXXXXXXXXXX4242' }, null])
  })

  scenario('expressions of a payload become values, or null for what is not there', async () => {
    const { id } = await general().vault.tokens.create({ type: 'token', data: 'Ada' })
    const { vault, sent } = reading(losingAnswers(1))
    const gone = unique()
    assert.equal(await vault.detokenize({ to: `Dear {{ ${id} | upcase }}`, n: 1.5 }), {
      to: 'Dear ADA',
      n: 1.5,
    })
    assert.equal(sent.length, 2)
    assert.equal(await vault.detokenize([`{{ ${gone} }}`], { missing: 'null' }), [null])
    const error = await rejection(vault.detokenize([`{{ ${gone} }}`]))
    assert.equal([error.code, Object.keys(error.errors)], ['invalid_request', ['[0]']])
  })

  scenario('numbers beyond doubles come back to the digit, wherever they are', async () => {
    const { vault } = general()
    const texts = ['12345678901234567890', '1e400', '-0.1234567890123456789', '9007199254740993', '1E-400']
    const { id } = await vault.tokens.create({
      type: 'token',
      data: {
        ...Object.fromEntries(texts.map((text, at) => [`n${at}`, new ExactNumber(text)])),
        big: 12345678901234567891n,
        plain: [1.5, 1e21, 0.1, -0, 9007199254740992, 4242424242424242],
        text: '12345678901234567890 "1e400" \\',
      },
    })
    const data = (await reading().vault.tokens.get(id)).data as Record<string, unknown>
    for (const [at, text] of texts.entries()) {
      const number = data[`n${at}`]
      assert.ok(number instanceof ExactNumber, text)
      assert.equal(String(number), text)
    }
    assert.equal(String(data.big), '12345678901234567891')
    assert.equal(data.plain, [1.5, 1e21, 0.1, 0, 9007199254740992, 4242424242424242])
    assert.equal(data.text, '12345678901234567890 "1e400" \\')
    // Sent as it came, it is the same.
    const copy = await vault.tokens.create({ type: 'token', data })
    const again = (await reading().vault.tokens.get(copy.id)).data as Record<string, unknown>
    assert.equal(String(again.n1), '1e400')
  })

  scenario('a field named __proto__ is a field, and what looks like a mark is a text', async () => {
    const data = JSON.parse('{"__proto__":{"a":12345},"b":"exact-0000:1","c":"$1"}')
    data.n = new ExactNumber('1e400')
    const { id } = await general().vault.tokens.create({ type: 'token', data })
    const read = (await reading().vault.tokens.get(id)).data as Record<string, unknown>
    assert.ok(Object.hasOwn(read, '__proto__'))
    assert.equal([read.b, read.c, String(read.n)], ['exact-0000:1', '$1', '1e400'])
  })

  scenario('what is no number is no ExactNumber', async () => {
    for (const text of ['', '1,2', '01', '1]', 'NaN', '1e', ' 1'])
      assert.throws(() => new ExactNumber(text), TypeError)
  })

  scenario('a create whose answers are lost is repeated, and makes one token', async () => {
    const customer = unique()
    const { vault, sent, waits } = general(losingAnswers(3))
    const { id } = await vault.tokens.create({ type: 'token', data: 'x', metadata: { customer } })
    assert.equal([sent.length, waits.length], [4, 3])
    assert.equal(new Set(sent.map(({ headers }) => headers.get('svc-idempotency-key'))).size, 1)
    const { data } = await reading().vault.tokens.listPage({ metadata: { customer } })
    assert.equal(
      data.map(token => token.id),
      [id],
    )
  })

  scenario('two creates have two idempotency keys', async () => {
    const { vault, sent } = general()
    await vault.tokens.create({ type: 'token', data: 'x' })
    await vault.tokens.create({ type: 'token', data: 'x' })
    assert.equal(new Set(sent.map(({ headers }) => headers.get('svc-idempotency-key'))).size, 2)
  })

  scenario('without retries one request is sent, and its key leads to the same token later', async () => {
    const { vault, sent } = general(losingAnswers(1), { retries: 0 })
    const error = await rejection(vault.tokens.create({ type: 'token', data: 'x' }))
    assert.ok(error instanceof ConnectionError)
    assert.equal(sent.length, 1)
    const { idempotencyKey } = error
    assert.ok(idempotencyKey !== undefined && error.advice.includes('idempotency key'))
    const first = await vault.tokens.create({ type: 'token', data: 'x' }, { idempotencyKey })
    const second = await vault.tokens.create({ type: 'token', data: 'x' }, { idempotencyKey })
    assert.equal(first.id, second.id)
  })

  scenario('an answer that breaks off is no answer', async () => {
    const broken = () =>
      new Response(
        new ReadableStream({
          start: controller => {
            controller.enqueue(new TextEncoder().encode('{"id":'))
            controller.error(new TypeError('terminated'))
          },
        }),
      )
    const { vault, sent } = general(answering(broken, () => new Response('{"id":'), json({ id: 'a' })))
    assert.equal((await vault.tokens.create({ type: 'token', data: 'x' })).id, 'a')
    assert.equal(sent.length, 3)
  })

  scenario('what may pass is repeated, after the time that the vault asks for', async () => {
    const { vault, sent, waits } = general(
      answering(
        problem(429, 'rate_limited', { 'retry-after': '7' }),
        problem(503, 'overloaded', { 'retry-after': new Date(Date.now() + 20_000).toUTCString() }),
        problem(409, 'request_in_flight'),
        () => new Response('<html>', { status: 502 }),
        json({ id: 'a' }, 201),
      ),
    )
    await vault.tokens.create({ type: 'token', data: 'x' })
    assert.equal(sent.length, 5)
    const [first = 0, second = 0, third = 0] = waits
    assert.ok(first >= 7_000 && first <= 10_500, String(first))
    assert.ok(second > 15_000 && second <= 30_000, String(second))
    assert.ok(third > 0 && third < 5_000, String(third))
  })

  scenario('retries are bounded, and a wait that is too long is not waited for', async () => {
    const { vault, sent } = general(answering(problem(503, 'unavailable')), { retries: 2 })
    const error = await rejection(vault.tokens.create({ type: 'token', data: 'x' }))
    assert.equal(
      [error.code, error.status, error.traceId, sent.length],
      ['unavailable', 503, 'trace-of-it', 3],
    )
    assert.ok(error instanceof client.UnavailableError)
    const slow = general(answering(problem(429, 'rate_limited', { 'retry-after': '3600' })))
    const late = await rejection(slow.vault.tokens.create({ type: 'token', data: 'x' }))
    assert.equal([late.retryAfterMs, slow.sent.length, slow.waits.length], [3_600_000, 1, 0])
    const once = general(answering(problem(503, 'unavailable')))
    await rejection(once.vault.tokens.create({ type: 'token', data: 'x' }, { retries: 0 }))
    assert.equal(once.sent.length, 1)
  })

  scenario('an id that is taken stays taken: nothing is repeated', async () => {
    const id = unique()
    const { vault, sent } = general()
    await vault.tokens.create({ id, type: 'token', data: 'x' })
    const error = await rejection(vault.tokens.create({ id, type: 'token', data: 'y' }))
    assert.ok(error instanceof client.IdTakenError)
    assert.equal([error.code, error.name, error.status, sent.length], ['id_taken', 'IdTakenError', 409, 2])
  })

  scenario('a repeated delete that finds nothing is done; a first one is not', async () => {
    const id = unique()
    await general().vault.tokens.create({ id, type: 'token', data: 'x' })
    const { vault, sent } = reading(losingAnswers(1))
    assert.equal(await vault.tokens.delete(id), undefined)
    assert.equal(sent.length, 2)
    assert.equal((await rejection(vault.tokens.delete(id))).code, 'not_found')
    // A refusal that did nothing is no reason to believe that it is gone.
    const refused = reading(answering(problem(429, 'rate_limited'), problem(404, 'not_found')))
    assert.equal((await rejection(refused.vault.tokens.delete(id))).code, 'not_found')
  })

  scenario('a key whose text was lost is named, and can be revoked', async () => {
    const { vault } = manager()
    const application = await vault.applications.create({
      name: unique(),
      type: 'private',
      permissions: ['token:create'],
      create_key: false,
    })
    const losing = manager(losingAnswers(1))
    const error = await rejection(losing.vault.keys.create(application.id))
    assert.ok(error instanceof KeyTextLostError)
    assert.equal(
      (await vault.keys.list(application.id)).map(({ id }) => id),
      [error.id],
    )
    await vault.keys.delete(application.id, error.id)
    assert.equal(await vault.keys.list(application.id), [])
    const lost = await rejection(
      manager(losingAnswers(1)).vault.applications.create({
        name: unique(),
        type: 'private',
        permissions: ['token:create'],
      }),
    )
    assert.ok(lost instanceof KeyTextLostError)
    assert.equal((await vault.applications.get(lost.id)).type, 'private')
    await vault.applications.delete(lost.id)
    await vault.applications.delete(application.id)
  })

  scenario('a refusal says what is wrong, where, and what to do', async () => {
    const { vault } = general()
    const error = await rejection(
      vault.tokens.create(
        { type: 'card', data: { number: '4242424242424241' } },
        { traceId: 'trace-of-mine' },
      ),
    )
    assert.ok(error instanceof client.InvalidRequestError && error instanceof VaultError)
    assert.equal(
      [error.status, error.code, error.traceId, Object.keys(error.errors)],
      [400, 'invalid_request', 'trace-of-mine', ['data.number']],
    )
    assert.ok(error.message.includes('data.number') && error.advice !== '')
    assert.ok(!JSON.stringify(error).includes('4242'))
    const stranger = vaultWith(`${keys.api_key.slice(0, -4)}zzzz`)
    assert.ok((await rejection(stranger.vault.tokens.get('abc'))) instanceof client.UnauthorizedError)
  })

  scenario('a code that this release does not know is an error all the same', async () => {
    const { vault } = general(answering(problem(418, 'is_teapot')))
    const error = await rejection(vault.tokens.get('abc'))
    assert.equal(
      [error.code, error.name, error.message],
      ['is_teapot', 'IsTeapotError', 'Something. [is_teapot, trace trace-of-it]'],
    )
    assert.ok(error instanceof VaultError && error.advice !== '')
  })

  scenario('the key is in nothing that can be printed', async () => {
    const key = keys.api_key
    const telling: Fetch = async (url, init) => {
      throw new TypeError(`fetch failed: ${url} ${JSON.stringify(init.headers)}`, { cause: { key } })
    }
    const { vault } = general(telling, { retries: 1 })
    const errors = [
      await rejection(vault.tokens.create({ type: 'token', data: 'x' })),
      await rejection(new Vault({ baseUrl: site.baseUrl, apiKey: `${key}\n` }).tokens.get('abc')),
      await rejection(new Vault({ baseUrl: site.baseUrl, apiKey: `${key}ä` }).tokens.get('abc')),
      await rejection(vault.proxy({ proxyKey: `${key}\n` })),
    ]
    for (const thing of [vault, vault.tokens, ...errors]) {
      const texts = [String(thing), JSON.stringify(thing), (thing as Error).stack ?? '', inspected(thing)]
      assert.ok(!texts.join('\n').includes(key.slice(8, -4)), texts.join('\n'))
      assert.equal((thing as Error).cause, undefined)
    }
  })

  scenario('a signal ends a call, its waits too, with its own reason', async () => {
    const reason = new Error('enough')
    const during = new AbortController()
    const first = general(never)
    const call = first.vault.tokens.create(
      { type: 'token', data: 'x' },
      { signal: during.signal, retries: 0 },
    )
    setTimeout(() => during.abort(reason), 5)
    assert.equal(await call.catch(error => error), reason)
    assert.equal(first.sent.length, 1)
    const waiting = new AbortController()
    const second = general(answering(problem(503, 'overloaded', { 'retry-after': '30' })), {
      wait: undefined as never,
    })
    const slow = second.vault.tokens.create({ type: 'token', data: 'x' }, { signal: waiting.signal })
    setTimeout(() => waiting.abort(reason), 20)
    assert.equal(await slow.catch(error => error), reason)
    assert.equal(second.sent.length, 1)
    const before = general()
    const aborted = before.vault.tokens.get('abc', { signal: AbortSignal.abort(reason) })
    assert.equal([await aborted.catch(error => error === reason), before.sent.length], [true, 0])
  })

  scenario('no answer in time is an error, after as many attempts as any other', async () => {
    const { vault, sent } = general(never, { timeoutMs: 5, retries: 1 })
    const error = await rejection(vault.tokens.create({ type: 'token', data: 'x' }))
    assert.ok(error instanceof TimedOutError && error instanceof ConnectionError)
    assert.equal([error.code, error.name, sent.length], ['timed_out', 'TimedOutError', 2])
  })

  scenario('an id that would name something else is not sent', async () => {
    const { vault, sent } = manager()
    for (const id of ['', '.', '..', undefined as never]) {
      await rejection(vault.tokens.delete(id))
      await rejection(vault.keys.delete('019c9f1e-6a00-7000-8000-3f2b6d0c5a11', id))
    }
    assert.equal(sent.length, 0)
    const odd = `${unique()} ü:@,;~!$'()*"`
    await general().vault.tokens.create({ id: odd, type: 'token', data: 'x' })
    assert.equal((await reading().vault.tokens.get(odd)).id, odd)
  })

  scenario('a redirect is not followed, so the key goes nowhere else', async () => {
    const { vault, sent } = general(
      answering(
        () => new Response(null, { status: 308, headers: { location: 'https://elsewhere.example/' } }),
      ),
    )
    assert.equal((await rejection(vault.tokens.get('abc'))).code, 'redirected')
    assert.equal([sent.length, sent[0]?.redirect], [1, 'manual'])
  })

  scenario('base path and header prefix are those of the options', async () => {
    const { vault, sent } = general(answering(json({ id: 'a' })), {
      baseUrl: 'https://vault.example/below/it/',
      headerPrefix: 'acme',
    })
    await vault.tokens.create({ type: 'token', data: 'x' }, { traceId: 'trace-of-mine' })
    const [{ url, headers } = assert.fail()] = sent
    assert.equal(url, 'https://vault.example/below/it/tokens')
    assert.equal([headers.get('acme-api-key'), headers.get('acme-trace-id')], [keys.api_key, 'trace-of-mine'])
    assert.ok(headers.has('acme-idempotency-key') && !headers.has('svc-api-key'))
    assert.throws(() => new Vault({ baseUrl: 'vault.example' }), TypeError)
  })

  scenario('a key can be asked for with each request', async () => {
    const given = [keys.api_key, keys.private_api_key]
    const vault = new Vault({ baseUrl: site.baseUrl, apiKey: async () => given.shift() ?? '' })
    const { id } = await vault.tokens.create({ type: 'token', data: 'x' })
    assert.equal((await vault.tokens.get(id)).data, 'x')
  })

  scenario('lists and searches go from page to page, and go on where they were', async () => {
    const customer = unique()
    const { vault } = general()
    const made: string[] = []
    for (const data of ['a', 'b', 'c', 'd', 'e'])
      made.unshift((await vault.tokens.create({ type: 'token', data, metadata: { customer } })).id)
    const { vault: reader } = reading()
    const query = { metadata: { customer }, size: 2 }
    const ids = async (tokens: AsyncIterable<{ readonly id: string }>): Promise<string[]> => {
      const all: string[] = []
      for await (const { id } of tokens) all.push(id)
      return all
    }
    assert.equal(await ids(reader.tokens.list(query)), made)
    assert.equal(await ids(reader.tokens.search(`metadata.customer:"${customer}"`, { size: 2 })), made)
    for await (const { data, next } of reader.tokens.list(query).pages()) {
      assert.equal(data.length, 2)
      assert.equal(await ids(reader.tokens.list({ ...query, start: next })), made.slice(2))
      break
    }
    assert.equal(await ids(reader.tokens.list({ id: made.slice(1, 3) })), made.slice(1, 3))
    assert.equal((await reader.tokens.listPage(query)).pagination.total_items, 5)
    const { pagination, plan } = await reader.tokens.searchPage({
      query: `metadata.customer:"${customer}"`,
      explain: true,
    })
    assert.equal([pagination.total_items, plan?.counted_by], [5, 'index'])
  })

  scenario('applications, their keys and rights', async () => {
    const { vault } = manager()
    const name = unique()
    const made = await vault.applications.create({ name, type: 'private', permissions: ['token:create'] })
    assert.ok(made.key !== undefined)
    assert.equal((await vaultWith(made.key).vault.applications.own()).id, made.id)
    const listed: string[] = []
    for await (const { id } of vault.applications.list({ type: 'private' })) listed.push(id)
    assert.ok(listed.includes(made.id))
    assert.equal((await vault.applications.listPage({ id: made.id })).pagination.total_items, 1)
    const changed = await vault.applications.update(made.id, { name, permissions: ['token:read'] })
    assert.equal(changed.permissions, ['token:read'])
    const { outcome } = await vault.applications.explain(made.id, { permission: 'token:read', type: 'card' })
    assert.equal(outcome, 'mask')
    assert.ok((await vault.applications.permissions({ application_type: 'public' })).length > 0)
    const key = await vault.keys.create(made.id, { expires_at: '2099-12-31' })
    assert.equal((await vault.keys.get(made.id, key.id)).id, key.id)
    await vault.applications.delete(made.id)
  })

  scenario('the tenant, its reports, and whether the vault is ready', async () => {
    const { vault } = manager()
    const { name, settings } = await vault.tenant.get()
    assert.equal((await vault.tenant.update({ name, settings })).name, name)
    assert.ok((await vault.tenant.usage()).token_report.monthly_active_tokens >= 0)
    assert.ok((await vault.tenant.indexReport()).indexes.length >= 0)
    assert.equal([(await vault.health()).status, (await vault.ready()).status], ['up', 'ready'])
    const deleting = manager(answering(() => new Response(null, { status: 204 })))
    assert.equal(await deleting.vault.tenant.delete(), undefined)
    assert.ok(deleting.sent[0]?.url.endsWith('/tenants/self'))
  })

  scenario('webhooks and proxies, whose secrets and keys can be lost as well', async () => {
    const { vault } = manager()
    const webhook = { name: unique(), url: 'https://receiver.example.com/events', events: ['token.*'] }
    const lost = await rejection(manager(losingAnswers(1)).vault.webhooks.create(webhook))
    assert.ok(lost instanceof KeyTextLostError)
    const renewed = await vault.webhooks.newSecret(lost.id, { grace_hours: 0 })
    assert.ok(renewed.secret?.startsWith('whsec_'))
    assert.equal(
      (await vault.webhooks.update(lost.id, { ...webhook, status: 'disabled' })).status,
      'disabled',
    )
    const listed: string[] = []
    for await (const { id } of vault.webhooks.list()) listed.push(id)
    assert.equal(listed, [(await vault.webhooks.get(lost.id)).id])
    for await (const failure of vault.webhooks.failures(lost.id)) assert.fail(failure.id)
    await vault.webhooks.delete(lost.id)

    const proxy = { name: unique(), destination_url: 'https://api.example.com/v1' }
    const keyless = await rejection(manager(losingAnswers(1)).vault.proxies.create(proxy))
    assert.ok(keyless instanceof KeyTextLostError)
    assert.ok((await vault.proxies.newKey(keyless.id)).key !== undefined)
    assert.equal(await vault.proxies.update(keyless.id, { timeout: 20 }), undefined)
    assert.equal((await vault.proxies.get(keyless.id)).timeout, 20)
    const proxies: string[] = []
    for await (const { id } of vault.proxies.list()) proxies.push(id)
    assert.equal(proxies, [keyless.id])
    await vault.proxies.delete(keyless.id)
  })

  scenario('the log is listed and exported, and events are followed to their end', async () => {
    const id = unique()
    await general().vault.tokens.create({ id, type: 'token', data: 'x' })
    const { vault } = manager()
    const seen: string[] = []
    for await (const { operation } of vault.logs.list({ token_id: id, size: 1 })) seen.push(operation)
    assert.equal(seen, ['createToken'])
    assert.ok((await vault.logs.entityTypes()).some(({ value }) => value === 'token'))
    const lines: unknown[] = []
    for await (const line of vault.logs.export({ token_id: id })) lines.push(line)
    assert.ok(lines.some(line => (line as { operation?: string }).operation === 'createToken'))
    let last: string | undefined
    const events: Client.Event[] = []
    for await (const { data, next } of vault.events.list({ type: 'token.created' }).pages()) {
      last = next
      events.push(...data)
    }
    const event = events.find(({ data: { token } }) => token?.id === id)
    assert.ok(event !== undefined && last !== undefined)
    assert.equal((await vault.events.get(event.id)).id, event.id)
    const later: string[] = []
    for await (const { type } of vault.events.list({ start: last })) later.push(type)
    assert.equal(later, [])
  })

  scenario('an export that breaks off says so', async () => {
    const { vault } = manager(answering(() => new Response('{"next":"a"}\n{"ne')))
    const lines: unknown[] = []
    const error = await rejection(
      (async () => {
        for await (const line of vault.logs.export()) lines.push(line)
      })(),
    )
    assert.ok(error instanceof ConnectionError)
    assert.equal(lines, [{ next: 'a' }])
  })

  scenario('what the destination of a proxy answers comes back, whatever it is', async () => {
    const destination = { 'svc-proxy-destination-status': '401' }
    for (const status of [200, 302, 401, 404, 503]) {
      const { vault, sent } = general(
        answering(() => new Response('theirs', { status, headers: destination })),
      )
      const response = await vault.proxy({
        proxyKey: 'key-of-a-proxy',
        path: '/v1/charges?expand=card',
        headers: { 'Content-Type': 'application/json', Accept: 'text/plain' },
        body: '{"number":"{{ a-card | json: \'$.number\' }}"}',
      })
      assert.equal([response.status, await response.text(), sent.length], [status, 'theirs', 1])
      const [{ url, headers, method } = assert.fail()] = sent
      assert.equal(url, `${site.baseUrl}/proxy/v1/charges?expand=card`)
      assert.equal(
        [method, headers.get('svc-proxy-key'), headers.get('accept'), headers.has('svc-idempotency-key')],
        ['POST', 'key-of-a-proxy', 'text/plain', false],
      )
    }
  })

  scenario('what a proxy refuses is thrown, and only what it did not send is repeated', async () => {
    const refusal = (status: number, code: string) =>
      json({ proxy_error: { status, code, detail: 'Refused.', trace_id: 'trace-of-it' } }, status, {
        'svc-proxy-error': code,
      })
    const cases: [Fetch, code: string, sent: number][] = [
      [answering(refusal(400, 'token_not_found')), 'token_not_found', 1],
      [answering(refusal(502, 'destination_unreachable')), 'destination_unreachable', 1],
      [answering(refusal(504, 'destination_timeout')), 'destination_timeout', 1],
      [answering(refusal(503, 'unavailable')), 'unavailable', 1],
      [answering(refusal(503, 'proxy_busy')), 'proxy_busy', 5],
      [answering(problem(429, 'rate_limited')), 'rate_limited', 5],
      [answering(problem(401, 'unauthorized')), 'unauthorized', 1],
      [
        answering(
          () => new Response(null, { status: 403, headers: { 'svc-proxy-error': 'permission_denied' } }),
        ),
        'permission_denied',
        1,
      ],
      [answering(() => new Response('<html>', { status: 503 })), 'answer_unknown', 1],
      [losingAnswers(9), 'connection', 1],
    ]
    for (const [fetch, code, count] of cases) {
      const { vault, sent } = general(fetch)
      const error = await rejection(
        vault.proxy({ url: 'https://api.example.com', method: 'POST', body: 'x' }),
      )
      assert.equal([error.code, sent.length], [code, count])
    }
    const { vault, sent } = general(answering(refusal(503, 'proxy_busy')))
    await rejection(vault.proxy({ url: 'https://api.example.com', body: 'x', retries: 0 }))
    assert.equal(sent.length, 1)
  })

  scenario('no path of a proxy leads to another endpoint of the vault', async () => {
    const { vault, sent } = general()
    for (const path of [
      '/../tokens',
      '/..',
      '/a/%2e%2E/../x',
      '/.',
      'tokens',
      '\\..\\tokens',
      '/a#b',
      '//../x',
    ])
      await rejection(vault.proxy({ proxyKey: 'k', path, method: 'DELETE' }))
    assert.equal(sent.length, 0)
  })

  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  const body =
    '{"event":{"id":"evt_1","type":"token.created"},"delivered_at":"2026-11-19T20:00:00.000+00:00"}'
  const sentAt = Date.parse('2026-11-19T20:00:00Z')
  const sign = async (secret: string, text = body): Promise<string> => {
    const bytes = Uint8Array.from(atob(secret.slice(6)), character => character.charCodeAt(0))
    const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [
      'sign',
    ])
    const signature = await crypto.subtle.sign(
      'HMAC',
      key,
      new TextEncoder().encode(`evt_1.${sentAt / 1_000}.${text}`),
    )
    return `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`
  }
  const delivery = async (...signatures: string[]) => ({
    secret,
    body,
    now: sentAt,
    headers: {
      'Webhook-Id': 'evt_1',
      'webhook-timestamp': String(sentAt / 1_000),
      'webhook-signature': signatures.length === 0 ? await sign(secret) : signatures.join(' '),
    },
  })

  scenario('a delivery that the vault signed is read', async () => {
    const sent = await delivery()
    assert.equal((await client.verifyWebhook(sent)).event.id, 'evt_1')
    const bytes = new TextEncoder().encode(body)
    assert.equal(
      (await client.verifyWebhook({ ...sent, headers: new Headers(sent.headers), body: bytes })).event.type,
      'token.created',
    )
    // The vector of the published description of Standard Webhooks.
    const published = {
      secret,
      body: '{"test": 2432232314}',
      now: 1614265330_000,
      headers: {
        'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'webhook-timestamp': '1614265330',
        'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      },
    }
    assert.equal(await client.verifyWebhook(published), { test: 2432232314 })
  })

  scenario('while a secret is replaced, either is enough on either side', async () => {
    const other = `whsec_${btoa('another secret of 32 characters!')}`
    const both = await delivery(await sign(other), await sign(secret))
    for (const own of [secret, other, [secret, other], [other, secret]])
      assert.equal((await client.verifyWebhook({ ...both, secret: own })).event.id, 'evt_1')
    const old = await delivery(await sign(secret))
    assert.equal((await client.verifyWebhook({ ...old, secret: [other, secret] })).event.id, 'evt_1')
    const stranger = `whsec_${btoa('a secret that nobody has at all!')}`
    assert.equal(
      (await rejection(client.verifyWebhook({ ...both, secret: stranger }))).code,
      'webhook_invalid',
    )
  })

  scenario('a delivery that was changed, is old, or is signed by nobody is refused', async () => {
    const good = await delivery()
    const signature = good.headers['webhook-signature']
    const wrong: Partial<Client.Delivery>[] = [
      { body: `${body} ` },
      { now: sentAt + 300_001 },
      { now: sentAt - 300_001 },
      { headers: { ...good.headers, 'Webhook-Id': 'evt_2' } },
      { headers: { ...good.headers, 'webhook-timestamp': '1e9' } },
      { headers: { ...good.headers, 'webhook-signature': signature.replace('v1,', 'v1a,') } },
      { headers: { ...good.headers, 'webhook-signature': 'v1,' } },
      { headers: { ...good.headers, 'webhook-signature': 'v1,%%%' } },
      { headers: { ...good.headers, 'webhook-signature': signature.slice(0, -5) } },
      { headers: {} },
    ]
    for (const change of wrong)
      assert.equal((await rejection(client.verifyWebhook({ ...good, ...change }))).code, 'webhook_invalid')
    for (const empty of ['', 'whsec_', 'whsec_%%', []])
      assert.ok((await rejection(client.verifyWebhook({ ...good, secret: empty }))) instanceof Error)
  })

  return found
}

/** As the runtime shows things in its log. */
const inspected = (thing: unknown): string => {
  const { Deno, Bun, nodeInspect } = globalThis as {
    Deno?: { inspect(thing: unknown): string }
    Bun?: { inspect(thing: unknown): string }
    nodeInspect?: (thing: unknown) => string
  }
  return (Deno?.inspect ?? Bun?.inspect ?? nodeInspect)?.(thing) ?? ''
}
