import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { startVault } from '../../server/src/testing.ts'
import type { RunningVault } from '../../server/src/testing-types.d.ts'
import { temporaryFolder } from '../../server/test/rig/temporary-folder.ts'
import { readmeExamples } from './readme-examples.ts'

describe('the examples of client/README.md', { timeout: 60_000 }, () => {
  const folder = temporaryFolder()
  const environment = { ...process.env }
  let vault: RunningVault
  before(async () => {
    vault = await startVault()
  })
  after(async () => {
    process.env = environment
    await vault.stop()
    folder.remove()
  })

  test('each of them works, in their order (client/README.md)', async context => {
    const { api_key, private_api_key, management_api_key } = vault.keys
    Object.assign(process.env, {
      VAULT_URL: vault.base_url,
      VAULT_KEY: api_key,
      VAULT_PRIVATE_KEY: private_api_key,
      VAULT_MANAGEMENT_KEY: management_api_key,
      CHARGES_PROXY_KEY: 'key-of-no-proxy',
      WEBHOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    })
    const printed: unknown[][] = []
    context.mock.method(console, 'log', (...parts: unknown[]) => {
      printed.push(parts)
    })
    const entry = pathToFileURL(join(import.meta.dirname, '../src/main.ts')).href
    const file = join(folder.path, 'examples.ts')
    writeFileSync(file, `${readmeExamples(entry)}\nexport { charge }\n`)
    const { receive, charge } = await import(pathToFileURL(file).href)
    const text = JSON.stringify(printed, (_, value) => (typeof value === 'bigint' ? `${value}` : value))
    for (const expected of [
      'XXXXXXXXXXXX4242',
      'Dear Ada',
      '4242424242424242',
      'data.number',
      'token.created',
      '12345678901234567890',
    ])
      assert.ok(text.includes(expected), expected)

    const before = printed.length
    const body = '{"event":{"id":"evt_1","type":"token.created"}}'
    const now = String(Math.floor(Date.now() / 1_000))
    const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64')
    const signature = createHmac('sha256', secret).update(`evt_1.${now}.${body}`).digest('base64')
    const headers = {
      'webhook-id': 'evt_1',
      'webhook-timestamp': now,
      'webhook-signature': `v1,${signature}`,
    }
    const request = () => new Request('https://receiver.example', { method: 'POST', headers, body })
    assert.equal((await receive(request())).status, 204)
    assert.equal((await receive(request())).status, 204)
    assert.deepEqual(printed.slice(before), [['token.created']])
    await assert.rejects(charge(), { name: /^(?:NotFound|NoSuchRoute|Unauthorized)Error$/ })
  })
})
