import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onOneEngine } from '../rig/every-engine.ts'
import { countTokens, sendAndExpect } from '../rig/scenario.ts'
import { devApplications, owner, type TestVault } from '../rig/test-vault.ts'

const token = { type: 'token', data: 'Sensitive Value', metadata: { k: 'v' } }

/** What is sent, what is returned, and the instant that both mean. The vault's clock shows 2026-03-01. */
const forms: readonly { name: string; sent: string; shown: string }[] = [
  {
    name: 'a date-time with an offset (§2.3.3)',
    sent: '8/26/2030 7:23:57 PM -07:00',
    shown: '2030-08-26T19:23:57.000-07:00',
  },
  {
    name: 'an offset with minutes (§2.3.3)',
    sent: '08/26/2030 07:23:57 AM +05:30',
    shown: '2030-08-26T07:23:57.000+05:30',
  },
  {
    name: '12 AM is midnight (§2.3.3)',
    sent: '1/2/2030 12:00:01 AM +00:00',
    shown: '2030-01-02T00:00:01.000+00:00',
  },
  {
    name: '12 PM is noon (§2.3.3)',
    sent: '1/2/2030 12:00:00 PM +14:00',
    shown: '2030-01-02T12:00:00.000+14:00',
  },
  {
    name: 'without an offset it is UTC (§2.3.5)',
    sent: '8/26/2030 7:23:57 PM',
    shown: '2030-08-26T19:23:57.000+00:00',
  },
  {
    name: 'a date means midnight UTC (§2.3.4, §2.3.6)',
    sent: '8/26/2030',
    shown: '2030-08-26T00:00:00.000+00:00',
  },
  { name: 'a date with leading zeros (§2.3.4)', sent: '01/02/2030', shown: '2030-01-02T00:00:00.000+00:00' },
  { name: 'the 29th of February (§2.3.4)', sent: '2/29/2028', shown: '2028-02-29T00:00:00.000+00:00' },
  { name: 'an ISO date (C17.1)', sent: '2030-08-26', shown: '2030-08-26T00:00:00.000+00:00' },
  {
    name: 'an ISO date-time without an offset (C17.1)',
    sent: '2030-08-26T19:23:57',
    shown: '2030-08-26T19:23:57.000+00:00',
  },
  {
    name: 'an ISO date-time in UTC (C17.1)',
    sent: '2030-08-26T19:23:57.5Z',
    shown: '2030-08-26T19:23:57.500+00:00',
  },
  {
    name: 'an ISO date-time with an offset (C17.1, C5.6)',
    sent: '2030-08-26T19:23:57.123-03:30',
    shown: '2030-08-26T19:23:57.123-03:30',
  },
  {
    name: 'a millisecond ahead (C17.2)',
    sent: '2026-03-01T12:00:00.001Z',
    shown: '2026-03-01T12:00:00.001+00:00',
  },
]

const isNoDate =
  'must be a date like 2030-12-31, 2030-12-31T10:00:00+02:00, 12/31/2030 or 12/31/2030 11:59:59 PM +02:00'
const refused: readonly { name: string; says: string; values: readonly string[] }[] = [
  {
    name: 'a past date in any format (C17.2)',
    says: 'must lie in the future',
    values: [
      '1/1/2020',
      '2/28/2026 11:59:59 PM -00:00',
      '2026-03-01',
      '2026-03-01T12:00:00Z',
      '2026-03-01T13:59:59+02:00',
      '0001-01-01',
    ],
  },
  {
    name: 'days and times that do not exist (C17.2)',
    says: isNoDate,
    values: [
      '2/30/2030',
      '13/1/2030',
      '0/1/2030',
      '2/29/2030',
      '2030-13-01',
      '2030-02-30',
      '1/1/2030 13:00:00 PM',
      '1/1/2030 0:00:00 AM',
      '2030-01-01T24:00:00',
      '2030-01-01T00:60:00',
      '2030-01-01T00:00:00+25:00',
      '1/1/2030 1:00:00 AM +14:30',
    ],
  },
  {
    name: 'any other text (C17.2)',
    says: isNoDate,
    values: [
      '',
      ' ',
      'never',
      'tomorrow',
      '1893456000',
      '1893456000000',
      '1/1/30',
      '1.1.2030',
      '2030/01/01',
      '2030-1-1',
      '20300101',
      '1/1/2030 1:00 PM',
      '1/1/2030 01:00:00',
      '2030-01-01 00:00:00',
      ' 1/1/2030',
      '1/1/2030 ',
      '2030-01-01T00:00:00 Z',
      'Tue, 01 Jan 2030 00:00:00 GMT',
      '2030-W01-1',
      '+002030-01-01',
      '１/１/２０３０',
    ],
  },
]

onOneEngine('expires_at', 'every store forgets tokens as its contract says', (vault, aboveStorage) => {
  aboveStorage(() => {
    for (const { name, sent, shown } of forms)
      test(`${name}: ${sent} is accepted on create and update and shown in every answer (§2.3.7)`, async () => {
        const { keys } = await vault().tenant({ owner })
        const body = { ...token, expires_at: sent }
        const created = await vault().create(keys.owner, body)
        assert.equal(created.expires_at, shown)
        assert.equal((await vault().get(`/tokens/${created.id}`, keys.owner)).body.expires_at, shown)
        assert.equal((await vault().get('/tokens', keys.owner)).body.data[0].expires_at, shown)
        const other = await vault().create(keys.owner, token)
        const patched = await vault().patch(`/tokens/${other.id}`, keys.owner, { expires_at: sent })
        assert.equal(patched.body.expires_at, shown)
        assert.equal((await vault().get(`/tokens/${other.id}`, keys.owner)).body.expires_at, shown)
      })

    for (const { name, says, values } of refused)
      test(`${name}: refused on create and update`, async () => {
        const { keys } = await vault().tenant({ owner })
        const { id } = await vault().create(keys.owner, { ...token, expires_at: '2030-01-01' })
        const before = (await vault().get(`/tokens/${id}`, keys.owner)).text
        const caller = { key: keys.owner, counter: keys.owner }
        for (const expires_at of values) {
          const expect = { status: 400, errors: ['expires_at'] }
          const create = { method: 'POST', path: '/tokens', body: { ...token, expires_at } }
          const reply = await sendAndExpect(vault(), caller, create, expect)
          assert.deepEqual(reply.body.errors.expires_at, [says])
          await sendAndExpect(
            vault(),
            caller,
            { method: 'PATCH', path: `/tokens/${id}`, body: { expires_at } },
            expect,
          )
        }
        assert.equal((await vault().get(`/tokens/${id}`, keys.owner)).text, before)
      })

    test('the example dates in a refusal are accepted (C17.1)', async () => {
      const { keys } = await vault().tenant({ owner })
      const named = isNoDate.match(/\d[^,]*?\d(?=,| or|$)/g) ?? []
      assert.equal(named.length, 4)
      for (const expires_at of named) await vault().create(keys.owner, { ...token, expires_at })
    })
  })

  test('a token without expires_at does not expire (§2.3.1)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, token)
    vault().now += 100 * 365 * 86_400_000
    await vault().service.jobTimer.runAll()
    assert.equal((await vault().get(`/tokens/${id}`, keys.owner)).status, 200)
    vault().now -= 100 * 365 * 86_400_000
  })

  const minuteAhead = (at: TestVault): string => new Date(at.now + 60_000).toISOString()

  test('a token is 404 on every path from the instant it expires, not a millisecond before (C17.3, C2.14)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, { ...token, expires_at: minuteAhead(vault()) })
    vault().now += 59_999
    assert.equal((await vault().get(`/tokens/${id}`, keys.owner)).status, 200)
    assert.equal((await vault().patch(`/tokens/${id}`, keys.owner, {})).status, 200)
    vault().now += 1
    const unknown = await vault().get('/tokens/unknown', keys.owner)
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const reply = await vault().send(method, `/tokens/${id}`, {
        key: keys.owner,
        ...(method === 'PATCH' && { body: {} }),
      })
      assert.equal(reply.status, 404, method)
      assert.deepEqual({ ...reply.body, trace_id: '' }, { ...unknown.body, trace_id: '' })
    }
    const revived = await vault().patch(`/tokens/${id}`, keys.owner, { expires_at: '2031-01-01' })
    assert.equal(revived.status, 404)
  })

  const lists = ['/tokens', '/tokens?type=token', '/tokens?metadata.k=v', '/tokens?container=/general/']

  test('a token leaves every list and count at the instant it expires, purged or not (C17.4, C17.5, C17.6, §8.5)', async () => {
    const { keys, tenantId } = await vault().tenant({
      owner,
      some: {
        rules: [{ priority: 1, container: '/general/', transform: 'mask', permissions: ['token:read'] }],
      },
      several: {
        rules: ['/general/', '/pci/'].map((container, priority) => ({
          priority,
          container,
          transform: 'mask' as const,
          permissions: ['token:read' as const],
        })),
      },
    })
    const stays = await vault().create(keys.owner, token)
    const goes = await vault().create(keys.owner, { ...token, id: 'going', expires_at: minuteAhead(vault()) })
    const expectIds = async (ids: readonly string[]): Promise<void> => {
      for (const key of Object.values(keys))
        for (const path of [
          ...lists,
          `/tokens?id=${stays.id}&id=${goes.id}`,
          `/tokens?fingerprint=${stays.fingerprint}`,
        ]) {
          const { body } = await vault().get(path, key)
          assert.deepEqual(body.data.map(({ id }: { id: string }) => id).sort(), [...ids].sort(), path)
          assert.equal(body.pagination.total_items, ids.length, path)
        }
    }
    vault().now += 59_999
    await expectIds([stays.id, goes.id])
    const number = await vault().tenantNumber(tenantId)
    assert.ok(await vault().store.getToken(number, goes.id))
    vault().now += 1
    await expectIds([stays.id])
    await vault().service.jobTimer.runAll()
    await expectIds([stays.id])
    assert.equal(await vault().store.getToken(number, goes.id), undefined)
    // C17.6: a purged token has given its id back.
    await vault().create(keys.owner, { ...token, id: 'going' })
    await expectIds([stays.id, goes.id])
  })

  test('a new expiry takes effect, and null removes it (§4.5.11, C18.1)', async () => {
    const { keys } = await vault().tenant({ owner })
    const { id } = await vault().create(keys.owner, { ...token, expires_at: minuteAhead(vault()) })
    await vault().patch(`/tokens/${id}`, keys.owner, {
      expires_at: new Date(vault().now + 120_000).toISOString(),
    })
    vault().now += 60_000
    assert.equal((await vault().get('/tokens?metadata.k=v', keys.owner)).body.pagination.total_items, 1)
    const cleared = await vault().patch(`/tokens/${id}`, keys.owner, { expires_at: null })
    assert.equal('expires_at' in cleared.body, false)
    vault().now += 3_600_000
    await vault().service.jobTimer.runAll()
    assert.equal((await vault().get(`/tokens/${id}`, keys.owner)).status, 200)
    assert.equal((await vault().get('/tokens?metadata.k=v', keys.owner)).body.pagination.total_items, 1)
    assert.equal(await countTokens(vault(), keys.owner), 1)
  })

  aboveStorage(() => {
    test('the cvc of a card does not outlive the token (C17.3)', async () => {
      const { keys, tenantId } = await vault().tenant(devApplications)
      const number = await vault().tenantNumber(tenantId)
      const data = { number: '4242424242424242', cvc: '123' }
      const { id } = await vault().create(keys.general, {
        type: 'card',
        data,
        expires_at: minuteAhead(vault()),
      })
      vault().now += 60_000
      assert.equal((await vault().get(`/tokens/${id}`, keys.private)).status, 404)
      assert.equal((await vault().store.getTokens(number, [id])).transients.length, 1)
      await vault().service.jobTimer.runAll()
      assert.deepEqual((await vault().store.getTokens(number, [id])).transients, [])
    })
  })

  test('the id of an expiring token stays taken until it expires (C16.4, C17.3)', async () => {
    const { keys } = await vault().tenant({ owner })
    const body = { ...token, id: 'taken', expires_at: minuteAhead(vault()) }
    await vault().create(keys.owner, body)
    const again = () => vault().post('/tokens', keys.owner, { ...body, data: 'another', expires_at: null })
    assert.equal((await again()).status, 409)
    assert.equal((await vault().get('/tokens/taken', keys.owner)).body.data, token.data)
    vault().now += 60_000
    assert.equal((await again()).status, 201)
  })

  test('the id of an expired token is free where deduplication looks for a match first, then taken again (C16.4, C17.4)', async () => {
    const { keys } = await vault().tenant({ owner })
    const body = { ...token, id: 'taken', deduplicate_token: true }
    await vault().create(keys.owner, { ...body, expires_at: minuteAhead(vault()) })
    vault().now += 60_000
    assert.equal((await vault().post('/tokens', keys.owner, body)).status, 201)
    const again = await vault().post('/tokens', keys.owner, { ...body, data: 'another' })
    assert.deepEqual([again.status, again.body.detail], [409, 'A token with this id exists.'])
  })
})
