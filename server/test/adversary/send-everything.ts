import assert from 'node:assert/strict'
import { newUuid } from '../../src/crypto/uuid.ts'
import type { TestReply } from '../rig/answers.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { putFailedDelivery, putWebhook, unreachable } from '../rig/put-webhook.ts'
import { sendRaw } from '../rig/raw-http.ts'
import { webhookFor } from '../rig/receivers.ts'
import { spoilTokens } from '../rig/stored-rows.ts'
import type { Send, TestApplication, TestVault } from '../rig/test-vault.ts'
import type { Canaries } from './canaries.ts'

const applications = {
  writer: { permissions: ['token:create', 'token:update'] },
  reader: {
    rules: [
      {
        priority: 1,
        container: '/',
        transform: 'reveal',
        permissions: ['token:read', 'token:delete', 'token:search'],
      },
    ],
  },
  management: ownerAndManager.manager,
} as const satisfies Record<string, TestApplication>

export type Sent = { readonly what: string; readonly method: string; readonly reply: TestReply }

export type Traffic = {
  readonly sent: readonly Sent[]
  /** Every API key that was shown or made up. */
  readonly keyTexts: readonly string[]
  /** Deletes what was created, down to the tenant. */
  readonly last: () => Promise<void>
}

/** Sends canaries through every endpoint and into every kind of refusal. */
export const sendEverything = async (vault: TestVault, canaries: Canaries): Promise<Traffic> => {
  const { keys, tenantId } = await vault.tenant(applications)
  const keyTexts: string[] = Object.values(keys)
  const sent: Sent[] = []

  const send = async (method: string, path: string, options: Send = {}): Promise<TestReply> => {
    const reply = await vault.send(method, path, options)
    sent.push({ what: `${method} ${path.split('?')[0]}`, method, reply })
    return reply
  }
  const post = (body: unknown, more: Send = {}) =>
    send('POST', '/tokens', { key: keys.writer, body, ...more })
  const patch = (id: string, body: unknown) => send('PATCH', `/tokens/${id}`, { key: keys.writer, body })

  const card = () => ({
    type: 'card',
    data: { number: canaries.card(), expiration_month: 12, expiration_year: 2030, cvc: canaries.cvc() },
  })
  const bank = () => ({
    type: 'bank',
    data: { routing_number: '021000021', account_number: canaries.account() },
  })
  const ssn = () => ({ type: 'social_security_number', data: canaries.ssn() })
  const person = () => ({
    type: 'token',
    data: { [canaries.name()]: canaries.text(), list: [canaries.text()] },
  })
  const trimmings = () => ({
    id: canaries.id(),
    mask: { shown: canaries.expression(), [canaries.name()]: 'X' },
    metadata: { [canaries.name()]: canaries.value() },
    containers: [canaries.container(), canaries.container()],
    search_indexes: [canaries.expression()],
    fingerprint_expression: canaries.expression(),
    deduplicate_token: true,
  })

  // Requests that store something.
  const ids: string[] = []
  for (const make of [card, bank, ssn, person]) {
    const made = await post(make())
    assert.equal(made.status, 201, made.text)
    ids.push(made.body.id)
  }
  for (const make of [bank, ssn, person]) {
    const definition = { ...make(), ...trimmings() }
    const made = await post(definition)
    assert.equal(made.status, 201, made.text)
    ids.push(made.body.id)
    assert.equal((await post(definition)).status, 201, 'deduplicated')
  }
  const replayed = { headers: { 'svc-idempotency-key': canaries.value() } }
  await post(card(), replayed)
  await post(card(), replayed)
  const tokenized = await send('POST', '/tokenize', {
    key: keys.writer,
    body: {
      [canaries.name()]: [canaries.text(), card(), { [canaries.name()]: bank() }],
      plain: canaries.text(),
    },
  })
  assert.equal(tokenized.status, 200, tokenized.text)
  const [cardId = '', bankId = '', ssnId = '', personId = ''] = ids
  await patch(cardId, { data: { number: canaries.card(), cvc: canaries.cvc() } })
  await patch(bankId, {
    data: { account_number: canaries.account() },
    metadata: { [canaries.name()]: canaries.value() },
  })
  await patch(ssnId, {
    data: canaries.ssn(),
    mask: canaries.expression(),
    containers: [canaries.container()],
  })
  await patch(personId, {
    data: { [canaries.name()]: { [canaries.name()]: canaries.text() } },
    search_indexes: [canaries.expression()],
    fingerprint_expression: canaries.expression(),
    expires_at: '2027-01-01',
  })
  for (const id of ids) await vault.get(`/tokens/${id}`, keys.reader)

  // Requests that are refused, and searches.
  const broken = (type: string, data: unknown, more: object = {}) => post({ type, data, ...more })
  await broken('card', { number: `${canaries.card()}1` })
  await broken('card', { number: canaries.card(), cvc: canaries.text() })
  await broken('card', { number: canaries.card(), cvv: canaries.cvc() })
  await broken('card', { number: canaries.card(), [canaries.numberAsName()]: canaries.text() })
  await broken('card', { number: Number(canaries.card()) })
  await broken('card', canaries.text())
  await broken('bank', { routing_number: '021000022', account_number: canaries.account() })
  await broken('bank', { routing_number: canaries.account(), account_number: canaries.text() })
  await broken('social_security_number', `${canaries.ssn()}0`)
  await broken(canaries.value().slice(0, 50), canaries.text())
  await broken('token', canaries.text(), { mask: `{{ data | ${canaries.name()} }}` })
  await broken('token', canaries.text(), { mask: `{{ data | append: '${canaries.value()}` })
  await broken('token', canaries.text(), { mask: `{{ ${canaries.card()} | ${canaries.card()} }}` })
  await broken('token', canaries.text(), {
    fingerprint_expression: `{{ data | plus: '${canaries.value()}' }}`,
  })
  await broken('token', canaries.text(), {
    search_indexes: [`{{ data | date: '%Q${canaries.value()}' }}`],
  })
  await broken('token', canaries.text(), { metadata: { [canaries.name()]: { deep: canaries.value() } } })
  await broken('token', canaries.text(), { metadata: { [canaries.numberAsName()]: 1 } })
  await broken('token', canaries.text(), { containers: [canaries.container().slice(1)] })
  await broken('token', canaries.text(), { expires_at: canaries.value() })
  await broken('token', canaries.text(), { id: `${canaries.id()}/` })
  await broken('token', canaries.text(), { id: `{{ data | ${canaries.name()} }}` })
  await broken('token', canaries.text(), { [canaries.name()]: canaries.value() })
  await broken('token', canaries.text(), { [canaries.numberAsName()]: canaries.value() })
  await broken('token', canaries.text(), { deduplicate_token: canaries.value() })
  const taken = { id: canaries.id(), ...person() }
  await post(taken)
  assert.equal((await post({ ...taken, data: canaries.text() })).status, 409)
  await send('POST', '/tokenize', {
    key: keys.writer,
    body: [
      canaries.text(),
      { type: 'card', data: { number: canaries.card(), [canaries.name()]: canaries.text() } },
    ],
  })
  await send('POST', '/tokenize', {
    key: keys.writer,
    body: { type: canaries.name(), data: canaries.text() },
  })
  for (const text of [
    `{"type":"token","data":"${canaries.card()}"`,
    `{"type":"token","data":"${canaries.card()}",}`,
    `${canaries.name()}`,
    `[${'['.repeat(40)}"${canaries.card()}"`,
    `{"data":"${'x'.repeat(1_048_576)}${canaries.card()}"}`,
    Buffer.from(`{"data":"${canaries.card()}\xff"}`, 'latin1'),
  ])
    await send('POST', '/tokens', { key: keys.writer, raw: text })
  await send('POST', '/tokens', {
    key: keys.writer,
    raw: canaries.card(),
    type: `text/${canaries.name()}`,
  })
  await send('PATCH', `/tokens/${cardId}`, {
    key: keys.writer,
    raw: canaries.card(),
    type: 'application/json',
  })
  await patch(cardId, { data: { number: `${canaries.card()}1` } })
  await patch(cardId, { data: { [canaries.numberAsName()]: canaries.cvc() } })
  await patch(cardId, { mask: `{{ data.number | ${canaries.name()} }}` })
  await patch(cardId, { [canaries.name()]: canaries.value() })
  await patch(cardId, { id: canaries.id(), tenant_id: canaries.value() })
  await patch(canaries.id(), { data: canaries.text() })
  await patch(canaries.numberAsId(), { data: canaries.text() })
  await send('GET', `/tokens/${canaries.numberAsId()}`, { key: keys.reader })
  await send('DELETE', `/tokens/${canaries.id()}`, { key: keys.reader })
  await send('GET', `/${canaries.name()}/${canaries.card()}`, { key: keys.reader })
  await send('PUT', `/tokens/${canaries.card()}`, { key: keys.reader })
  await send('GET', `/tokens/%zz${canaries.card()}`, { key: keys.reader })
  for (const query of [
    `id=${canaries.id()}&metadata.${canaries.name()}=${canaries.value()}`,
    `fingerprint=${canaries.card()}&container=${canaries.container()}`,
    `${canaries.name()}=${canaries.card()}`,
    `${canaries.numberAsName()}=1`,
    `type=${canaries.value()}&page=${canaries.card()}`,
    `container=${canaries.value()}`,
    `metadata=${canaries.value()}`,
    `page=%${canaries.value()}`,
  ])
    await send('GET', `/tokens?${query}`, { key: keys.reader })
  await send('GET', `/tokens/${cardId}?${canaries.name()}=${canaries.card()}`, { key: keys.reader })
  await send('GET', `/v2/tokens?metadata.${canaries.name()}=${canaries.value()}`, { key: keys.reader })
  await send('GET', `/v2/tokens?start=${canaries.card()}`, { key: keys.reader })
  for (const query of [
    `data:${canaries.card()}`,
    `metadata.${canaries.name()}:${canaries.value()} NOT data:"${canaries.ssn()}"`,
    `${canaries.name()}:${canaries.card()}`,
    `data:"${canaries.card()}`,
    `(fingerprint:${canaries.card()} OR`,
    `created_at:[${canaries.value()} TO *] type:card`,
    `NOT data:${canaries.card()}`,
    canaries.card(),
  ]) {
    for (const explain of [false, true])
      await send('POST', '/tokens/search', { key: keys.reader, body: { query, explain } })
    for (const start of ['', canaries.card()])
      await send('POST', '/v2/tokens/search', { key: keys.reader, body: { query, start, size: 1 } })
  }

  assert.equal((await vault.post('/detokenize', keys.reader, [`{{ ${cardId} }}`])).status, 200)
  for (const expression of [
    canaries.numberAsId(),
    `token: ${canaries.numberAsId()} | last4`,
    `'${canaries.card()}' | ${canaries.name()}`,
    `'${canaries.text()}' | plus: '${canaries.value()}'`,
    `'${canaries.text()}' | hmac: '${canaries.value()}', '${canaries.value()}' | to_base16`,
    `'${canaries.text()}' | date: '%Q${canaries.value()}'`,
    `${personId} | json: '$.${canaries.value()}'`,
    `${personId} | append: ${canaries.value()}`,
    `${personId} | append: '${canaries.value()}`,
  ])
    for (const query of ['', `?missing=${canaries.value()}`])
      await send('POST', `/detokenize${query}`, {
        key: keys.reader,
        body: { [canaries.name()]: [canaries.text(), `${canaries.text()} {{ ${expression} }}`] },
      })

  // Requests that carry no input.
  for (const path of ['/', '/health', '/ready', '/openapi.json', '/docs', '/docs/errors'])
    await send('GET', path)
  for (const path of [
    '/permissions',
    '/applications/key',
    '/applications',
    '/tenants/self',
    '/tenants/self/reports/usage',
    '/tenants/self/reports/indexes',
    '/logs/entity-types',
    '/logs/export',
    '/events',
    `/events/evt_${canaries.card()}`,
    `/events?type=${canaries.value()}&start=${canaries.value()}`,
    `/logs?operation=${canaries.value()}&token_id=${canaries.card()}`,
    `/logs?result=${canaries.value()}&start_date=${canaries.value()}&start=${canaries.value()}`,
    `/logs/export?start=${canaries.value()}`,
  ])
    await send('GET', path, { key: keys.management })

  // Keys and headers.
  const unknownKey = `${keys.reader.slice(0, -4)}1111`
  keyTexts.push(unknownKey)
  await send('GET', '/tokens', { key: unknownKey })
  await send('GET', '/tokens', { key: canaries.value() })
  await send('POST', '/tokens', { body: card() })
  await send('POST', '/tokens', { key: keys.reader, body: card() })
  await send('GET', '/tokens', { key: keys.reader, headers: { 'svc-trace-id': canaries.card() } })
  await send('GET', '/health', { headers: { 'svc-trace-id': `a b ${canaries.card()}` } })
  await post(card(), { headers: { 'svc-idempotency-key': `${canaries.value()} é` } })
  await post(card(), { headers: { 'content-encoding': canaries.name() } })
  for (const bytes of [
    `GET /tokens/${canaries.card()} HTTP/9.1\r\n\r\n`,
    `${canaries.card()} / HTTP/1.1\r\nhost: x\r\n\r\n`,
    `GET / HTTP/1.1\r\nhost: x\r\nx: ${canaries.card().repeat(5_000)}\r\n\r\n`,
  ])
    for (const reply of await sendRaw(vault.baseUrl, bytes))
      sent.push({ what: 'no HTTP', method: 'GET', reply })

  // Tenant, applications and their keys.
  const key = keys.management
  const rules = [
    {
      description: canaries.value(),
      priority: 1,
      container: canaries.container(),
      transform: 'mask',
      permissions: ['token:read'],
    },
  ]
  const application = await send('POST', '/applications', {
    key,
    body: { name: canaries.value(), type: 'private', rules },
  })
  assert.equal(application.status, 201, application.text)
  keyTexts.push(application.body.key)
  const { id } = application.body
  const idempotent = { 'svc-idempotency-key': canaries.value() }
  const second = await send('POST', `/applications/${id}/keys`, { key, body: {}, headers: idempotent })
  keyTexts.push(second.body.key)
  await send('POST', `/applications/${id}/keys`, { key, body: {}, headers: idempotent })
  await send('POST', `/applications/${id}/keys`, { key, body: { expires_at: canaries.value() } })
  await send('PUT', `/applications/${id}`, { key, body: { name: canaries.value(), rules } })
  await send('PUT', `/applications/${id}`, {
    key,
    body: { name: canaries.value(), [canaries.name()]: 1 },
  })
  await send('POST', '/applications', {
    key,
    body: { name: canaries.value(), type: canaries.value(), permissions: [canaries.value()] },
  })
  await send('POST', `/applications/${id}/explain`, {
    key,
    body: { permission: canaries.value(), containers: [canaries.container()] },
  })
  for (const path of [`/applications/${canaries.card()}`, `/applications/${canaries.card()}/keys`])
    await send('GET', path, { key })
  await send('GET', `/applications/${id}/keys/${canaries.card()}`, { key })
  await send('DELETE', `/applications/${id}/keys/${canaries.card()}`, { key })
  // Proxies and webhooks.
  const proxyOf = () => ({
    name: canaries.value(),
    destination_url: `https://api.example.com/${encodeURIComponent(canaries.value())}`,
    configuration: { a: canaries.value() },
    request_transforms: [{ type: 'append_header', name: 'x', value: canaries.value() }],
  })
  const proxy = await send('POST', '/proxies', { key, body: proxyOf() })
  assert.equal(proxy.status, 201, proxy.text)
  keyTexts.push(proxy.body.key)
  const proxyPath = `/proxies/${proxy.body.id}`
  const newKey = await send('POST', `${proxyPath}/key`, { key, body: {}, headers: idempotent })
  keyTexts.push(newKey.body.key)
  await send('POST', `${proxyPath}/key`, { key, body: {}, headers: idempotent })
  for (const path of ['/proxies', proxyPath, `/proxies/${canaries.card()}`]) await send('GET', path, { key })
  await send('PUT', proxyPath, { key, body: proxyOf() })
  await send('PUT', proxyPath, { key, body: { ...proxyOf(), destination_url: canaries.value() } })
  await send('PATCH', proxyPath, { key, body: { configuration: { b: canaries.value() } } })
  await send('PATCH', proxyPath, {
    key,
    body: { configuration: { [canaries.name()]: canaries.value() }, timeout: canaries.value() },
  })
  await send('POST', '/proxies', {
    key,
    body: {
      ...proxyOf(),
      application: { id: canaries.card() },
      request_transforms: [{ type: canaries.value(), [canaries.name()]: canaries.value() }],
      methods: [canaries.value()],
    },
  })
  for (const headers of [
    { 'svc-proxy-key': newKey.body.key },
    { 'svc-proxy-key': canaries.value() },
    { 'svc-proxy-url': `https://${canaries.card()}.example/` },
  ])
    await send('POST', `/proxy?card=${canaries.card()}`, { key, headers, body: canaries.value() })
  await send('DELETE', proxyPath, { key })
  const webhookOf = () => ({
    name: canaries.value(),
    url: `https://hooks.example.com/${encodeURIComponent(canaries.value())}`,
    events: ['token.*'],
  })
  const webhook = await send('POST', '/webhooks', { key, body: webhookOf() })
  assert.equal(webhook.status, 201, webhook.text)
  keyTexts.push(webhook.body.secret)
  const webhookPath = `/webhooks/${webhook.body.id}`
  const newSecret = await send('POST', `${webhookPath}/secret`, { key, body: {}, headers: idempotent })
  keyTexts.push(newSecret.body.secret)
  await send('POST', `${webhookPath}/secret`, { key, body: { grace_hours: canaries.value() } })
  for (const path of ['/webhooks', '/webhooks/event-types', webhookPath, `/webhooks/${canaries.card()}`])
    await send('GET', path, { key })
  await send('PUT', webhookPath, { key, body: webhookOf() })
  const unsent = newUuid()
  await putWebhook(vault, tenantId, webhookFor(unreachable, unsent))
  const failed = `/webhooks/${unsent}/deliveries/${await putFailedDelivery(vault, tenantId, unsent)}`
  await send('POST', `/webhooks/${unsent}/test`, { key })
  await send('GET', `/webhooks/${unsent}/deliveries`, { key })
  await send('GET', `/webhooks/${unsent}/deliveries?start=${canaries.value()}`, { key })
  await send('POST', `${failed}/retry`, { key })
  await send('POST', `/webhooks/${unsent}/deliveries/${canaries.card()}/retry`, { key })
  await send('PUT', webhookPath, {
    key,
    body: { ...webhookOf(), url: canaries.value(), events: [canaries.value()] },
  })
  await send('DELETE', webhookPath, { key })
  await send('PUT', '/tenants/self', {
    key,
    body: { name: canaries.value(), settings: { fingerprint_tokens: 'true' } },
  })
  await send('PUT', '/tenants/self', {
    key,
    body: {
      name: canaries.value(),
      settings: { [canaries.name()]: canaries.value(), deduplicate_tokens: canaries.value() },
    },
  })

  // Internal failures: rows changed behind the vault's back, and a key service that is gone.
  const fragile = [canaries.id(), canaries.id()]
  for (const id of fragile) await post({ id, ...person(), expires_at: '2026-03-02' })
  await spoilTokens(vault, fragile)
  for (const id of fragile) {
    assert.equal((await send('GET', `/tokens/${id}`, { key: keys.reader })).status, 500)
    assert.equal((await patch(id, { data: canaries.text() })).status, 500)
  }
  vault.now += 2 * 86_400_000
  await vault.service.jobTimer.runAll()

  const last = async (): Promise<void> => {
    await send('DELETE', `/tokens/${bankId}`, { key: keys.reader })
    await send('DELETE', `/applications/${id}`, { key })
    await send('DELETE', '/tenants/self', { key })
    await send('GET', '/tokens', { key: keys.reader })
  }
  return { sent, keyTexts, last }
}
