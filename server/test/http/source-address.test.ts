import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sourceOf } from '../../src/http/source-address.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { onOneEngine } from '../rig/every-engine.ts'
import { logPages } from '../rig/log-pages.ts'
import { recordsOfOperator } from '../rig/log-records.ts'

const networks = ['10.0.0.0/8', '192.168.1.1', 'fd00::/8']

type Case = {
  readonly name: string
  readonly trusted?: readonly string[]
  readonly from: string
  readonly header?: string | string[]
  readonly is: string
}
const cases: readonly Case[] = [
  {
    name: 'nobody is trusted unless the operator says so',
    trusted: [],
    from: '10.1.1.1',
    header: '1.1.1.1',
    is: '10.1.1.1',
  },
  { name: 'IPv4 within IPv6 is shown as IPv4', trusted: [], from: '::ffff:7.7.7.7', is: '7.7.7.7' },
  { name: 'IPv6 is shown as it is', trusted: [], from: '2001:db8::1', is: '2001:db8::1' },
  { name: 'a trusted proxy is believed', from: '10.1.1.1', header: '7.7.7.7', is: '7.7.7.7' },
  { name: 'a single address is trusted', from: '192.168.1.1', header: '7.7.7.7', is: '7.7.7.7' },
  { name: 'its neighbour is not', from: '192.168.1.2', header: '7.7.7.7', is: '192.168.1.2' },
  { name: 'an IPv6 network is trusted', from: 'fd12::1', header: '2001:db8::7', is: '2001:db8::7' },
  {
    name: 'a trusted proxy behind IPv6 is believed',
    from: '::ffff:10.1.1.1',
    header: '7.7.7.7',
    is: '7.7.7.7',
  },
  {
    name: 'of several, the last that no trusted proxy has',
    from: '10.1.1.1',
    header: '6.6.6.6, 7.7.7.7, 10.2.2.2',
    is: '7.7.7.7',
  },
  {
    name: 'what stands before that one is invented',
    from: '10.1.1.1',
    header: '10.9.9.9, 6.6.6.6, 7.7.7.7',
    is: '7.7.7.7',
  },
  { name: 'repeated headers are one list', from: '10.1.1.1', header: ['6.6.6.6', '7.7.7.7'], is: '7.7.7.7' },
  { name: 'all are trusted', from: '10.1.1.1', header: '10.3.3.3, 10.2.2.2', is: '10.3.3.3' },
  { name: 'no header', from: '10.1.1.1', is: '10.1.1.1' },
  { name: 'an empty header', from: '10.1.1.1', header: '', is: '10.1.1.1' },
  { name: 'a port is left out', from: '10.1.1.1', header: '7.7.7.7:4711', is: '7.7.7.7' },
  { name: 'so are brackets', from: '10.1.1.1', header: '[2001:db8::7]:4711', is: '2001:db8::7' },
  {
    name: 'one spelling of an address',
    from: '10.1.1.1',
    header: '2001:0DB8:0:0:0:0:0:7',
    is: '2001:db8::7',
  },
  { name: 'a forwarded IPv4 address within IPv6', from: '10.1.1.1', header: '::ffff:7.7.7.7', is: '7.7.7.7' },
  {
    name: 'a text that is no address is never shown',
    from: '10.1.1.1',
    header: '4111111111111111',
    is: '10.1.1.1',
  },
  {
    name: 'nor is what stands before it',
    from: '10.1.1.1',
    header: '7.7.7.7, unknown, 10.2.2.2',
    is: '10.2.2.2',
  },
  {
    name: 'nor the zone of an address',
    from: '10.1.1.1',
    header: 'fe80::1%4111111111111111',
    is: '10.1.1.1',
  },
]

describe('where a request comes from', () => {
  for (const { name, trusted = networks, from, header, is } of cases)
    test(`${name} (L2.2)`, () => {
      const headers = header === undefined ? {} : { 'x-forwarded-for': header as string }
      assert.equal(sourceOf(trusted)({ remoteAddress: from, headers }), is)
    })
})

onOneEngine(
  'behind a trusted proxy',
  'storage only keeps it',
  vault => {
    test('records show the client, of answers and of refusals to unknown keys (L2.2)', async () => {
      const { keys } = await vault().tenant(ownerAndManager)
      const headers = { 'x-forwarded-for': '6.6.6.6, 7.7.7.7' }
      assert.equal((await vault().send('GET', '/tokens', { key: keys.owner, headers })).status, 200)
      assert.equal((await vault().send('GET', '/tokens', { headers })).status, 401)
      await vault().service.vault.acts.flush()
      const [record] = (await logPages(vault(), keys.manager, 'operation=listTokens')).flat()
      assert.deepEqual(record?.source, { ip: '7.7.7.7' })
      const refused = (await recordsOfOperator(vault().service.vault)).filter(
        ({ result }) => result === 'denied',
      )
      assert.deepEqual(
        refused.map(({ source }) => source),
        [{ ip: '7.7.7.7' }],
      )
    })
  },
  { trustedProxies: ['127.0.0.1'] },
)
