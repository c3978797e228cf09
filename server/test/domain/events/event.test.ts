import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LogRecord } from '../../../src/domain/acts/block.ts'
import { eventsOf, parseEventId, toldOperations } from '../../../src/domain/events/event.ts'
import { eventPatterns, eventTypes, typesMeant } from '../../../src/domain/events/event-types.ts'

const id = '01a1f4f2-ca77-7678-854e-907200000002'
const record = (more: Record<string, unknown>): LogRecord => ({
  id,
  at: '2026-11-19T17:55:14.679+00:00',
  tenant_id: 'a-tenant',
  trace_id: 'a-trace',
  actor: { type: 'application', id: 'an-application' },
  source: { ip: '127.0.0.1' },
  sequence: '3.7',
  operation: 'getToken',
  result: 'allowed',
  entity_type: 'token',
  ...more,
})
const tokens = [
  { id: 'one', type: 'card', containers: ['/pci/high/'], permission: 'token:read', transform: 'reveal' },
  { id: 'two', type: 'token', containers: ['/a/', '/b/'], permission: 'token:use' },
]
const actor = { id: 'an-application', type: 'application' }

for (const [operation, { type, as }] of Object.entries(toldOperations))
  test(`${operation} is told as ${type} (E1.1, E1.2, E2.1)`, () => {
    const events = eventsOf(record({ operation, entity_id: 'thing', ...(as === 'token' && { tokens }) }))
    const common = { timestamp: '2026-11-19T17:55:14.679+00:00', tenant_id: 'a-tenant', trace_id: 'a-trace' }
    const of = (end: string, data: object) => ({
      id: `evt_${id}${end}`,
      type,
      ...common,
      sequence: '3.7',
      data: { ...data, actor },
    })
    assert.deepEqual(
      events,
      as === 'token'
        ? [
            of('', { token: { id: 'one', type: 'card', containers: ['/pci/high/'] } }),
            of('-1', { token: { id: 'two', type: 'token', containers: ['/a/', '/b/'] } }),
          ]
        : [of('', { [as]: { id: 'thing' } })],
    )
    for (const result of ['denied', 'failed'])
      assert.deepEqual(eventsOf(record({ operation, result, tokens })), [])
    assert.deepEqual(eventsOf(record({ operation, replayed: true, tokens })), [])
  })

test('what shows a token tells that it was read or used; lists of anything else tell nothing (E2.1, E2.2)', () => {
  const types = (more: Record<string, unknown>) => eventsOf(record(more)).map(({ type }) => type)
  assert.deepEqual(types({ operation: 'searchTokens', tokens }), ['token.read', 'token.used'])
  assert.deepEqual(types({ operation: 'listApplications' }), [])
  assert.deepEqual(types({ operation: 'constructor' }), [])
})

test('a proxied request is told once, when it is over, whatever came of it (E2.4)', () => {
  const proxy = (more: Record<string, unknown>) =>
    eventsOf(record({ entity_type: 'proxy', ...more })).map(({ type, data }) => [
      type,
      data.proxy ?? data.token,
    ])
  const used = { id: 'two', type: 'token', containers: ['/a/', '/b/'] }
  assert.deepEqual(proxy({ operation: 'proxy.sending', tokens: tokens.slice(1) }), [['token.used', used]])
  const destination = { origin: 'https://a.example', proxy_id: 'p' }
  for (const result of ['allowed', 'failed'])
    assert.deepEqual(proxy({ operation: 'proxy.done', result, destination }), [
      ['proxy.invoked', { id: 'p' }],
    ])
  assert.deepEqual(proxy({ operation: 'proxy.done', destination: { origin: 'https://a.example' } }), [
    ['proxy.invoked', {}],
  ])
})

test('tokens that were made of the answer to a proxied request are told with its end (E1.4, E2.4)', () => {
  const made = [
    { id: 'new', type: 'card', containers: ['/pci/high/'], permission: 'token:create' },
    { id: 'old', type: 'card', containers: ['/pci/high/'], permission: 'token:create', deduplicated: true },
  ]
  const told = (more: Record<string, unknown>) =>
    eventsOf(record({ operation: 'proxy.done', tokens: made, ...more })).map(({ id: own, type }) => [
      own,
      type,
    ])
  assert.deepEqual(told({}), [
    [`evt_${id}`, 'proxy.invoked'],
    [`evt_${id}-1`, 'token.created'],
  ])
  assert.deepEqual(told({ part: 2 }), [[`evt_${id}-1`, 'token.created']])
  assert.deepEqual(told({ result: 'failed' }), [[`evt_${id}`, 'proxy.invoked']])
})

test('events of jobs and commands have no trace id (E1.1)', () => {
  for (const type of ['job', 'operator']) {
    const [event] = eventsOf(record({ operation: 'sweep-expired', actor: { type }, tokens }))
    assert.deepEqual([event?.trace_id, event?.data.actor], [undefined, { type }])
  }
})

test('records from before there were events tell of tokens without a type (E1.2)', () => {
  const [event] = eventsOf(record({ tokens: [{ id: 'old', containers: ['/a/'], permission: 'token:read' }] }))
  assert.deepEqual(event?.data.token, { id: 'old', containers: ['/a/'] })
})

test('an id of an event is that of a record, and perhaps a number (E1.3)', () => {
  for (const text of [`evt_${id}`, `evt_${id}-1`, `evt_${id}-499`])
    assert.deepEqual(parseEventId(text), { recordId: id })
  for (const text of [id, `evt_${id}-0`, `evt_${id}-`, `evt_${id} `, `EVT_${id}`, `evt_${id.slice(1)}`, ''])
    assert.equal(parseEventId(text), null, text)
})

test('each type is meant by its name and by its families, but for the two that only their names mean (E2.2)', () => {
  for (const type of eventTypes) {
    assert.deepEqual([...typesMeant([type])], [type])
    const families = eventPatterns.filter(name => name.endsWith('.*') && type.startsWith(name.slice(0, -1)))
    assert.ok(families.length > 0)
    for (const family of families)
      assert.equal(typesMeant([family]).has(type), !['token.read', 'token.used'].includes(type), type)
  }
  assert.deepEqual([...typesMeant(['*', 'token', 'x.*'])], [])
})
