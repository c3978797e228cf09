import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { permissionsByType } from '../../server/src/domain/access/permissions.ts'
import { certificate } from '../../server/test/rig/certificates.ts'
import { Destination, ok } from '../../server/test/rig/destination.ts'
import { DnsServer } from '../../server/test/rig/dns-server.ts'
import { owner, TestVault } from '../../server/test/rig/test-vault.ts'
import { Vault } from '../src/main.ts'

describe('the client, through the proxy of a vault', () => {
  const name = 'api.partner.example'
  let dns: DnsServer
  let destination: Destination
  let vault: TestVault
  let keys: Record<'owner' | 'manager' | 'blind', string>
  before(async () => {
    const ca = certificate('Test CA')
    dns = await DnsServer.start()
    destination = await Destination.start(certificate(name, ca))
    dns.set(name, { a: ['127.0.0.1'] })
    const { port } = destination
    const outbound = {
      allow: [{ network: '127.0.0.1', port }],
      deny: [],
      ports: [port],
      dns: [dns.address],
      ca: ca.cert,
      ownHost: undefined,
    }
    vault = await TestVault.start({ settings: { outbound } })
    const use = { priority: 1, container: '/', transform: 'mask', permissions: ['token:use'] } as const
    const tenant = await vault.tenant({
      owner,
      manager: { type: 'management', permissions: permissionsByType.management },
      blind: { rules: [use] },
    })
    keys = tenant.keys
  })
  after(async () => {
    await vault.stop()
    destination.stop()
    dns.stop()
  })

  const clientOf = (who: keyof typeof keys): Vault => new Vault({ baseUrl: vault.baseUrl, apiKey: keys[who] })

  test('the destination gets the value, and the caller its answer; what the vault refuses is thrown, and reaches nobody (client/README.md)', async () => {
    const card = await clientOf('owner').tokens.create({ type: 'card', data: { number: '4012888888881881' } })
    const { key } = await clientOf('manager').proxies.create({
      name: 'Partner',
      destination_url: `https://${name}:${destination.port}/v1`,
    })
    assert.ok(key !== undefined)
    const charge = (id: string) =>
      clientOf('blind').proxy({
        proxyKey: key,
        path: '/charges?x=1',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ card: `{{ ${id} | json: '$.number' }}` }),
      })

    destination.reply = ok('done')
    const response = await charge(card.id)
    assert.deepEqual([response.status, await response.text()], [200, 'done'])
    const [request] = destination.requests
    assert.equal(request?.line, 'POST /v1/charges?x=1 HTTP/1.1')
    assert.equal(String(request?.body), '{"card":"4012888888881881"}')

    await assert.rejects(charge('no-such-token'), {
      name: 'TokenNotFoundError',
      code: 'token_not_found',
      status: 400,
    })
    await assert.rejects(clientOf('blind').proxy({ proxyKey: 'key_proxy_unknown' }), {
      name: 'NotFoundError',
    })
    await assert.rejects(clientOf('blind').proxy({ url: `https://${name}:${destination.port}/` }), {
      code: 'ephemeral_proxy_disabled',
    })
    assert.equal(destination.requests.length, 1)
  })
})
