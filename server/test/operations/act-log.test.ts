import assert from 'node:assert/strict'
import { createSecretKey, hkdfSync, randomBytes } from 'node:crypto'
import { beforeEach, describe, test } from 'node:test'
import { open } from '../../src/crypto/aead.ts'
import { LogSeal } from '../../src/crypto/log-seal.ts'
import { Act, type ActKind } from '../../src/domain/acts/act.ts'
import { recordsIn } from '../../src/domain/acts/block.ts'
import { ActLog } from '../../src/operations/log/act-log.ts'
import { type LogOwner, theOperator } from '../../src/operations/log/log-owner.ts'
import { StoreUnavailableError } from '../../src/store/port.ts'
import type { SealedLog, WriteSet } from '../../src/store/write-set.ts'

const tenant: LogOwner = { tenantNumber: 7, keys: { tenantId: 'tenant-seven' } }
const other: LogOwner = { tenantNumber: 8, keys: { tenantId: 'tenant-eight' } }
const read: ActKind = { operation: 'getToken', entityType: 'token', isAboutOne: true }
const actor = { type: 'application', id: 'app', keyId: 'key' } as const

const token = (id: string) => ({ id, containers: ['/a/'] })
const actOn = (id: string, transform: 'mask' | 'reveal' = 'mask'): Act => {
  const act = new Act(read, actor, 'trace-of-a-test', '127.0.0.1')
  act.touches(token(id), 'token:read', { transform, rule: 1 })
  return act
}

const refusal = (address = '127.0.0.1', status = 403): Act => {
  const act = new Act(read, actor, 'trace-of-a-test', address)
  act.ends(status, 'denied')
  return act
}

describe('the queue of records', () => {
  const seal = new LogSeal(createSecretKey(randomBytes(32)))
  let now = 0
  let stored: { set: WriteSet; sealed: SealedLog }[] = []
  let refuses: (set: WriteSet) => boolean = () => false
  let log: ActLog
  const records = ({ tenantNumber, keys: { tenantId } }: LogOwner) =>
    stored
      .filter(({ set }) => set.tenant === tenantNumber)
      .flatMap(({ sealed }) =>
        recordsIn(seal.open(tenantId, sealed), { tenantId, writer: 0, first: 0, kept: null }),
      )

  beforeEach(() => {
    now = Date.UTC(2026, 0, 1)
    stored = []
    refuses = () => false
    log = new ActLog({
      seal,
      clock: () => now,
      store: {
        commit: async set => {
          if (refuses(set)) throw new StoreUnavailableError('down')
          if (set.log !== null) stored.push({ set, sealed: set.log.sealWith([]) })
          return { committed: true }
        },
      },
    })
  })

  test('records that nobody waits for share a block per tenant, and those that somebody waits for are stored at once (L1.7, L3.2)', async () => {
    log.note(tenant, actOn('one'))
    log.note(tenant, actOn('two'))
    log.note(other, actOn('three'))
    assert.equal(stored.length, 0)
    await log.record(tenant, actOn('four', 'reveal'))
    assert.equal(stored.length, 1)
    await log.flush()
    assert.equal(stored.length, 3)
    assert.deepEqual(
      records(tenant).map(({ entity_id }) => entity_id),
      ['four', 'one', 'two'],
    )
    assert.deepEqual(
      records(other).map(({ entity_id }) => entity_id),
      ['three'],
    )
  })

  test('a record is as it was said to be, and its id is the one that the caller gets (L2.1, L4.6)', async () => {
    const act = actOn('one', 'reveal')
    act.ends(200, 'allowed')
    await log.record(tenant, act)
    assert.deepEqual(records(tenant), [
      {
        id: log.idOf(act),
        at: '2026-01-01T00:00:00.000+00:00',
        tenant_id: 'tenant-seven',
        trace_id: 'trace-of-a-test',
        actor: { type: 'application', id: 'app', key_id: 'key' },
        source: { ip: '127.0.0.1' },
        sequence: '0.0',
        operation: 'getToken',
        result: 'allowed',
        status: 200,
        entity_type: 'token',
        entity_id: 'one',
        tokens: [{ id: 'one', containers: ['/a/'], permission: 'token:read', transform: 'reveal', rule: 1 }],
      },
    ])
    assert.match(log.idOf(act), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  test('records that storage refused are kept and stored later, in order and once (L1.10)', async () => {
    refuses = () => true
    log.note(tenant, actOn('one'))
    await assert.rejects(log.flush(), StoreUnavailableError)
    log.note(tenant, actOn('two'))
    await assert.rejects(log.flush(), StoreUnavailableError)
    refuses = () => false
    await log.flush()
    await log.flush()
    assert.deepEqual(
      records(tenant).map(({ entity_id }) => entity_id),
      ['one', 'two'],
    )
  })

  test('a tenant whose records cannot be stored is closed after five seconds, alone, and open again once they are (L1.10)', async () => {
    refuses = ({ tenant: number }) => number === tenant.tenantNumber
    log.note(tenant, actOn('one'))
    log.note(other, actOn('two'))
    await assert.rejects(log.flush())
    log.requireOpen(tenant.tenantNumber)
    await assert.rejects(log.record(tenant, actOn('secret', 'reveal')), StoreUnavailableError)
    now += 5_001
    assert.throws(() => log.requireOpen(tenant.tenantNumber), StoreUnavailableError)
    log.requireOpen(other.tenantNumber)
    assert.equal(log.isStuck, false)
    refuses = () => false
    await log.flush()
    log.requireOpen(tenant.tenantNumber)
    await log.record(tenant, actOn('secret', 'reveal'))
  })

  test('a tenant is closed at once when sixteen mebibytes wait (L1.10)', async () => {
    refuses = () => true
    const many = new Act(read, actor, 'trace-of-a-test')
    for (let at = 0; at < 400_000; at++) many.touches(token(`${at}`), 'token:read')
    log.note(tenant, many)
    await assert.rejects(log.flush())
    assert.throws(() => log.requireOpen(tenant.tenantNumber), StoreUnavailableError)
    assert.equal(log.isStuck, true)
  })

  test('ten thousand refused keys of a second are 257 records at most (L1.9)', async () => {
    for (let at = 0; at < 10_000; at++)
      log.noteRefusal(theOperator, refusal(`10.0.${at >> 8}.${at & 255}`, 401))
    await log.flush()
    const found = records(theOperator)
    assert.equal(found.length, 257)
    assert.equal(
      found.reduce((sum, { count }) => sum + Number(count ?? 1), 0),
      10_000,
    )
  })

  test('the addresses of an IPv6 network are one source, and the next second is another (L1.9)', async () => {
    for (const address of ['2001:db8:1:2::1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:3::1'])
      log.noteRefusal(theOperator, refusal(address, 401))
    now += 1_000
    log.noteRefusal(theOperator, refusal('2001:db8:1:2::1', 401))
    await log.flush()
    assert.deepEqual(
      records(theOperator)
        .map(({ count }) => count ?? 1)
        .sort(),
      [1, 1, 2],
    )
  })

  test('refusals are merged per key, operation, status, source and second, with the time and the trace of the first (L1.8)', async () => {
    const refused = (
      trace: string,
      { by = 'key', what = 'getToken', status = 403, from = '127.0.0.1' } = {},
    ) => {
      const kind = { operation: what, entityType: 'token' } as const
      const act = new Act(kind, { type: 'application', id: 'app', keyId: by }, trace, from)
      act.ends(status, 'denied')
      log.noteRefusal(tenant, act)
    }
    refused('first')
    now += 5
    refused('again')
    refused('by another key', { by: 'other' })
    refused('of another operation', { what: 'listTokens' })
    refused('with another status', { status: 404 })
    refused('from elsewhere', { from: '127.0.0.2' })
    now += 995
    refused('a second later')
    await log.flush()
    const told = records(tenant).map(({ trace_id, at, count }) => [trace_id, at, count])
    const [second, next] = ['2026-01-01T00:00:00', '2026-01-01T00:00:01']
    assert.deepEqual(told, [
      ['first', `${second}.000+00:00`, 2],
      ['by another key', `${second}.005+00:00`, undefined],
      ['of another operation', `${second}.005+00:00`, undefined],
      ['with another status', `${second}.005+00:00`, undefined],
      ['from elsewhere', `${second}.005+00:00`, undefined],
      ['a second later', `${next}.000+00:00`, undefined],
    ])
  })

  test('the key of a block is derived from that of the vault, for its tenant and its hour (L3.3)', () => {
    const master = createSecretKey(randomBytes(32))
    const sealed = new LogSeal(master).seal('tenant-seven', { firstAt: now, lastAt: now }, 'a block')
    const opened = (tenantId: string, at: number) => {
      const info = `strongroom log ${tenantId} ${Math.floor(at / 3_600_000)}`
      const key = createSecretKey(Buffer.from(hkdfSync('sha256', master, '', info, 32)))
      return open(key, sealed, ['log', 'tenant-seven', now, now])?.toString()
    }
    assert.equal(opened('tenant-seven', now), 'a block')
    assert.equal(opened('tenant-seven', now + 3_600_000), undefined)
    assert.equal(opened('tenant-eight', now), undefined)
  })

  test('a block opens for its own log and its own times alone (L3.3)', () => {
    const sealed = log.partOf(tenant, actOn('one')).sealWith([])
    assert.doesNotThrow(() => seal.open('tenant-seven', sealed))
    assert.throws(() => seal.open('tenant-eight', sealed))
    assert.throws(() => seal.open('tenant-seven', { ...sealed, lastAt: sealed.lastAt + 1 }))
    assert.throws(() => seal.open('tenant-seven', { ...sealed, firstAt: sealed.firstAt - 3_600_000 }))
  })

  test('a record takes at most 150 bytes where sixteen share a block, and at most 500 alone (L8.2)', () => {
    const id = '019ca945-0a00-71f3-954f-c80a47778ed6'
    const act = (): Act => {
      const made = new Act(read, { ...actor, id, keyId: id }, id, '2001:db8:1:2:3:4:5:6')
      made.touches({ id, containers: ['/pci/high/'] }, 'token:read', { transform: 'mask', rule: 1 })
      return made
    }
    const bytes = (acts: Act[]): number => log.partOf(tenant, ...acts).sealWith([]).sealed.length
    assert.ok(bytes([act()]) <= 500, `${bytes([act()])}`)
    const shared = act()
    const sixteen = Array.from({ length: 16 }, () => {
      const made = new Act(shared.kind, shared.actor, id, shared.address)
      made.tokens = shared.tokens
      return made
    })
    assert.ok(bytes(sixteen) / 16 <= 150, `${bytes(sixteen) / 16}`)
  })
})
