import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { permissionsByType } from '../../src/domain/access/permissions.ts'
import { certificate } from '../rig/certificates.ts'
import { answerBytes, Destination } from '../rig/destination.ts'
import { DnsServer } from '../rig/dns-server.ts'
import { httpRequest } from '../rig/http-request.ts'
import { owner, TestVault } from '../rig/test-vault.ts'

/** What the page sends to this path, request by request. */
const bodiesFor = (page: string, path: string): string[] =>
  [
    ...page.matchAll(
      /curl -s \$URL(\S+) [^\n]*(?:\\\n[^\n]*)??(?:-d '([^']*(?:'[^ \n]*)*?)'\n|-d @- <<'END'\n([\s\S]*?)\nEND\n)/g,
    ),
  ]
    .filter(([, to]) => to === path)
    .map(([, , quoted, here]) => quoted ?? here ?? '')

test('what docs/use.md shows of the proxy works as it stands there (U10.1, U12.3, U19.2, U19.3)', async () => {
  const page = readFileSync(new URL('../../../docs/use.md', import.meta.url), 'utf8')
  const [payments, partner] = ['api.payments.example', 'partner.example']
  const ca = certificate('Test CA')
  const dns = await DnsServer.start()
  const charging = await Destination.start(certificate(payments, ca))
  const booking = await Destination.start(certificate(partner, ca))
  for (const name of [payments, partner]) dns.set(name, { a: ['127.0.0.1'] })
  const ports = [charging.port, booking.port]
  const vault = await TestVault.start({
    settings: {
      outbound: {
        allow: ports.map(port => ({ network: '127.0.0.1', port })),
        deny: [],
        ports,
        dns: [dns.address],
        ca: ca.cert,
        ownHost: undefined,
      },
    },
  })
  try {
    const here = (body: string | undefined): unknown =>
      JSON.parse(
        (body ?? '')
          .replaceAll(payments, `${payments}:${charging.port}`)
          .replaceAll(partner, `${partner}:${booking.port}`),
      )
    const { keys } = await vault.tenant({
      owner,
      manager: { type: 'management', permissions: permissionsByType.management },
      booking: { permissions: ['token:use', 'token:create'] },
    } as never)
    const { manager, owner: reader, booking: booker } = keys as Record<string, string>
    assert.ok(manager && reader && booker)
    for (const body of bodiesFor(page, '/tokens')) await vault.create(reader, JSON.parse(body))
    const [detokenized] = bodiesFor(page, '/detokenize')
    assert.equal(
      (await vault.post('/detokenize', reader, JSON.parse(detokenized ?? ''))).body.text,
      'Dear Ada,',
    )

    const [application] = bodiesFor(page, '/applications')
    const checkout = await vault.post('/applications', manager, here(application))
    assert.equal(checkout.status, 201, checkout.text)
    const made = []
    for (const body of bodiesFor(page, '/proxies'))
      made.push(await vault.post('/proxies', manager, here(body)))
    const [charges, bookings] = made
    assert.ok(charges?.status === 201 && bookings?.status === 201)

    charging.reply = answerBytes('{"charged":"4242424242424242"}', {
      headers: ['Content-Type: application/json'],
    })
    const [charge] = bodiesFor(page, '/proxy/charges')
    const charged = await httpRequest(`${vault.baseUrl}/proxy/charges`, {
      method: 'POST',
      headers: {
        'svc-api-key': checkout.body.key,
        'svc-proxy-key': charges.body.key,
        'content-type': 'application/json',
      },
      body: charge ?? '',
    })
    assert.deepEqual([charged.status, charged.text], [200, '{"charged":"****************"}'])
    const [request] = charging.requests
    assert.equal(
      request?.headers.find(([name]) => name.toLowerCase() === 'authorization')?.[1],
      'Bearer sk_test_123',
    )
    const { amount, card } = JSON.parse(String(request?.body))
    assert.deepEqual([amount, card], [1050, { number: '4242424242424242', expiry: '12/30' }])

    const [, answered = ''] = /^the partner answers\s+(\{.*\})$/m.exec(page) ?? []
    booking.reply = answerBytes(answered, { headers: ['Content-Type: application/json'] })
    const got = await httpRequest(`${vault.baseUrl}/proxy/bookings/17`, {
      method: 'GET',
      headers: { 'svc-api-key': booker, 'svc-proxy-key': bookings.body.key },
    })
    const { guest, card: id } = JSON.parse(got.text).booking
    assert.equal(guest, 'Ada')
    assert.equal((await vault.get(`/tokens/${id}`, reader)).body.data.number, '4242424242424242')
  } finally {
    await vault.stop()
    charging.stop()
    booking.stop()
    dns.stop()
  }
})
