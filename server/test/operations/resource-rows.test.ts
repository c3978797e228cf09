import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'
import type { OutboundProxy } from '../../src/domain/proxies/proxy.ts'
import { Secret } from '../../src/domain/secret.ts'
import { TamperedError } from '../../src/domain/tampered-error.ts'
import type { Webhook } from '../../src/domain/webhooks/webhook.ts'
import {
  openProxy,
  openResources,
  openWebhook,
  proxyRow,
  webhookRow,
} from '../../src/operations/grants/resource-rows.ts'
import { newVaultKeys } from '../crypto/test-keys.ts'

const secret = 'a value that is not to be seen'
const proxy: OutboundProxy = {
  id: 'proxy',
  name: 'Payments',
  destinationUrl: 'https://api.example.com/v1',
  requireAuth: true,
  configuration: { api_key: new Secret(secret) },
  requestTransforms: [{ type: 'append_header', name: 'x', value: 'y' }],
  responseTransforms: [],
  echoGuard: true,
  createdBy: 'somebody',
  createdAt: 5,
}
const webhook: Webhook = {
  id: 'webhook',
  name: 'Ledger',
  url: 'https://hooks.example.com/',
  events: ['token.*'],
  status: 'enabled',
  secrets: [{ value: new Secret(secret) }, { value: new Secret('older'), until: 9 }],
  createdBy: 'somebody',
  createdAt: 5,
}

describe('sealed proxies and webhooks', () => {
  const keys = newVaultKeys()
  const hash = new Uint8Array(32).fill(7)
  const proxies = proxyRow(keys, 'the tenant', proxy, hash)
  const webhooks = webhookRow(keys, 'the tenant', webhook)

  test('both open as they were sealed, with what they keep secret (U18)', () => {
    const opened = openProxy(keys, proxies, 'the tenant')
    assert.deepEqual({ ...opened, configuration: {} }, { ...proxy, configuration: {} })
    assert.equal(opened.configuration.api_key?.expose('comparing'), secret)
    const sent = openWebhook(keys, webhooks, 'the tenant')
    assert.deepEqual({ ...sent, secrets: [] }, { ...webhook, secrets: [] })
    assert.deepEqual(
      sent.secrets.map(({ value, ...rest }) => ({ ...rest, value: value.expose('comparing') })),
      [{ value: secret }, { value: 'older', until: 9 }],
    )
  })

  test('neither their rows nor they themselves, printed or serialised, show what they keep secret (U18)', () => {
    const opened = [openProxy(keys, proxies, 'the tenant'), openWebhook(keys, webhooks, 'the tenant')]
    for (const shown of [inspect(opened, { depth: 9 }), JSON.stringify(opened)])
      assert.ok(!shown.includes(secret), shown)
    for (const { sealed } of [proxies, webhooks]) assert.ok(!Buffer.from(sealed).includes(secret))
  })

  const moved: Record<string, () => unknown> = {
    'of another id': () => openProxy(keys, { ...proxies, id: 'another' }, 'the tenant'),
    'of another tenant': () => openProxy(keys, proxies, 'another tenant'),
    'found by the key of another proxy': () =>
      openProxy(keys, { ...proxies, hash: new Uint8Array(32) }, 'the tenant'),
    'without its hash': () => openProxy(keys, { ...proxies, hash: null }, 'the tenant'),
    'of the other kind': () => openWebhook(keys, { ...proxies, kind: 'webhook' }, 'the tenant'),
    'of no kind': () => openResources(keys, [{ ...webhooks, tenant: 1, kind: 'hook' }], 'the tenant'),
    'of a webhook under another id': () => openWebhook(keys, { ...webhooks, id: 'another' }, 'the tenant'),
    'of a webhook of another tenant': () => openWebhook(keys, webhooks, 'another tenant'),
  }
  for (const [what, open] of Object.entries(moved))
    test(`a row ${what} does not open (U18)`, () => {
      assert.throws(open, TamperedError)
    })
})
