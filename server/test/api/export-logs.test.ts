import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { Act } from '../../src/domain/acts/act.ts'
import { lineOf } from '../../src/domain/acts/block.ts'
import { StoreUnavailableError } from '../../src/store/port.ts'
import { ownerAndManager } from '../rig/applications.ts'
import { onOneEngine, onSqliteAlone } from '../rig/every-engine.ts'
import { exported, inSequence, readExport } from '../rig/log-pages.ts'
import { recordsOfTenant } from '../rig/log-records.ts'
import { secondNode } from '../rig/second-node.ts'
import type { TestVault } from '../rig/test-vault.ts'

const text = { type: 'token', data: 'x' }
const kind = { operation: 'something', entityType: 'report' } as const

const newTenant = async (vault: TestVault) => {
  const { tenantId, keys } = await vault.tenant(ownerAndManager)
  const tenantNumber = await vault.tenantNumber(tenantId)
  const owner = { tenantNumber, keys: { tenantId } }
  /** Records of nothing in particular, stored. */
  const record = async (count: number): Promise<void> => {
    const { acts } = vault.service.vault
    for (let index = 0; index < count; index++) {
      acts.note(owner, new Act(kind, { type: 'job' }, 'a-trace-of-a-test'))
      if (index % 1_000 === 999) await acts.flush()
    }
    await acts.flush()
  }
  return { tenantId, keys, record }
}

const open = async (vault: TestVault, path: string, key: string): Promise<IncomingMessage> => {
  const request = get(vault.baseUrl + path, { headers: { 'svc-api-key': key }, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

onOneEngine('export the log', 'storage is only read', vault => {
  test('the lines are the records of all writers, as they are sealed, each in the order of its numbers (L4.1, L5.8)', async () => {
    const { tenantId, keys } = await newTenant(vault())
    const other = await secondNode(vault())
    try {
      for (let index = 0; index < 10; index++) {
        vault().now += 1_000
        await (index % 2 === 0 ? other : vault()).send('POST', '/tokens', { key: keys.owner, body: text })
      }
    } finally {
      await other.stop()
    }
    const reply = await vault().get('/logs/export', keys.manager)
    assert.equal(reply.headers.get('content-type'), 'application/x-ndjson')
    const { lines, records } = readExport(reply.text)
    const whole = await recordsOfTenant(vault().service.vault, tenantId)
    const before = inSequence(whole.filter(({ operation }) => operation !== 'exportLogs'))
    const found = records.filter(({ operation }) => operation !== 'exportLogs')
    assert.deepEqual(inSequence(found).map(lineOf), before.map(lineOf))
    assert.deepEqual(lines, records.map(lineOf))
    const times = found.map(({ at }) => at)
    assert.deepEqual(times, times.toSorted(), 'oldest first')
    for (const [writer, own] of Map.groupBy(records, ({ sequence }) => sequence.split('.')[0]))
      assert.deepEqual(
        own.map(({ sequence }) => sequence),
        own.map((_record, index) => `${writer}.${index}`),
      )
  })

  test('an export goes on where the one before ended, with what was recorded since, late or not (L3.1, L5.8)', async () => {
    const { tenantId, keys, record } = await newTenant(vault())
    const all: string[] = []
    let start = ''
    for (let pass = 0; pass < 4; pass++) {
      await record(pass)
      const { now } = vault()
      vault().now = now - 3_600_000
      await record(1)
      vault().now = now
      const { lines, next } = await exported(vault(), keys.manager, `start=${start}`)
      all.push(...lines)
      start = next
    }
    await vault().service.vault.acts.flush()
    const { lines } = await exported(vault(), keys.manager, `start=${start}`)
    const whole = await recordsOfTenant(vault().service.vault, tenantId)
    const shown = [...all, ...lines].filter(line => !line.includes('exportLogs'))
    assert.deepEqual(
      shown.sort(),
      whole
        .filter(({ operation }) => operation !== 'exportLogs')
        .map(lineOf)
        .sort(),
    )
  })

  test('an export in pieces of any size is the whole export (L5.8)', async () => {
    const { keys, record } = await newTenant(vault())
    await record(2_500)
    const whole = (await exported(vault(), keys.manager, 'entity_type=report')).lines
    assert.equal(whole.length, 2_500)
    for (const size of [700, 1_000, 2_500]) {
      const lines: string[] = []
      let start = ''
      for (let more = true; more; ) {
        const query = `entity_type=report&size=${size}&start=${start}`
        const piece = await exported(vault(), keys.manager, query)
        assert.ok(piece.lines.length <= size)
        lines.push(...piece.lines)
        start = piece.next
        more = piece.lines.length > 0
      }
      assert.deepEqual(lines, whole, `size ${size}`)
    }
  })

  test('an export that was cut off is resumed from the last cursor that arrived (L5.8)', async () => {
    const { keys, record } = await newTenant(vault())
    await record(6_000)
    const whole = (await exported(vault(), keys.manager, 'entity_type=report')).lines
    const response = await open(vault(), '/logs/export?entity_type=report', keys.manager)
    let received = ''
    for await (const chunk of response) {
      received += chunk
      if (received.split('{"next":').length > 3) break
    }
    response.destroy()
    const lines = received.split('\n').slice(0, -1)
    const last = lines.findLastIndex(line => line.startsWith('{"next":'))
    const kept = lines.slice(0, last).filter(line => !line.startsWith('{"next":'))
    assert.ok(kept.length >= 3_000 && kept.length < 6_000)
    const { next } = JSON.parse(lines[last] ?? '')
    const rest = await exported(vault(), keys.manager, `entity_type=report&start=${next}`)
    assert.deepEqual([...kept, ...rest.lines], whole)
  })
})

onSqliteAlone('how an export is sent', 'storage is only read', vault => {
  test('its own record is stored though it goes on, once (L1.1, L5.8)', async () => {
    const { keys, record, tenantId } = await newTenant(vault())
    await record(20_000)
    const response = await open(vault(), '/logs/export', keys.manager)
    // Nobody reads it, so it cannot have ended.
    await vault().service.vault.acts.flush()
    const own = async () =>
      (await recordsOfTenant(vault().service.vault, tenantId)).filter(
        ({ operation }) => operation === 'exportLogs',
      )
    assert.deepEqual(
      (await own()).map(({ result, status, entity_type: type }) => [result, status, type]),
      [['allowed', 200, 'log']],
    )
    for await (const _chunk of response);
    assert.equal((await own()).length, 1)
  })

  test('what is held in memory for an export is given back when its client leaves (L5.8, C37.6)', async () => {
    const { keys, record } = await newTenant(vault())
    await record(20_000)
    const { memory } = vault().service
    const response = await open(vault(), '/logs/export', keys.manager)
    await once(response, 'readable')
    assert.ok(memory.held > 0)
    response.destroy()
    while (memory.held > 0) await vault().send('GET', '/health')
  })

  test('a fault before the first byte is a problem; a later one ends the connection (L5.8)', async () => {
    const { keys, record, tenantId } = await newTenant(vault())
    await record(20_000)
    const { store } = vault().service.vault
    const { readLog } = store
    let left = 0
    // With a filter: proving reads as well.
    const path = '/logs/export?result=allowed'
    store.readLog = async (...args) => {
      if (left-- <= 0) throw new StoreUnavailableError('gone')
      return readLog(...args)
    }
    try {
      const refused = await vault().get(path, keys.manager)
      assert.equal(refused.status, 503)
      left = 1
      const response = await open(vault(), path, keys.manager)
      assert.equal(response.statusCode, 200)
      await assert.rejects(async () => {
        for await (const _chunk of response);
      })
    } finally {
      store.readLog = readLog
    }
    const results = (await recordsOfTenant(vault().service.vault, tenantId))
      .filter(({ operation }) => operation === 'exportLogs')
      .map(({ result, status }) => [result, status])
    assert.deepEqual(results.sort(), [
      ['allowed', 200],
      ['failed', 503],
    ])
  })

  test('HEAD has the headers of an export and reads no more than its first piece (L5.8)', async () => {
    const { keys, record } = await newTenant(vault())
    await record(20_000)
    const reply = await vault().send('HEAD', '/logs/export', { key: keys.manager })
    assert.equal(reply.status, 200)
    assert.equal(reply.text, '')
    assert.equal(reply.headers.get('content-type'), 'application/x-ndjson')
  })
})
