import assert from 'node:assert/strict'
import type { Ledger } from './ledger.ts'
import { keyNumber } from './parts-of-a-write.ts'
import { type Body, read, type Target } from './target.ts'

/** What the events add up to, since the vault was new. */
export class EventBooks {
  cursor: string | undefined
  readonly seen = new Set<string>()
  /** Those that a webhook must tell: all but reads. */
  readonly toTell = new Set<string>()
  readonly living = new Map<string, Set<string>>()
  readonly updated = new Set<string>()
  /** Tokens that may have expired without having been removed. */
  readonly brief = new Set<string>()
  clockMs = 0

  add({ id, type, data }: Body): void {
    assert.ok(!this.seen.has(id), `the event ${id} came twice`)
    this.seen.add(id)
    const [, kind = '', verb = ''] = /^(?:application\.)?(\w+)\.(\w+)$/.exec(type) ?? []
    const living = this.living.get(kind) ?? new Set()
    this.living.set(kind, living)
    const about: string = data[kind].id
    if (verb === 'created') {
      assert.ok(!living.has(about), `${about} was created twice`)
      living.add(about)
    } else if (verb === 'deleted' || verb === 'expired')
      assert.ok(living.delete(about), `${about} was ${verb}, and was not there`)
    else if (verb === 'updated') this.updated.add(about)
  }
}

/** Every committed change has its event, and no event lacks its change (E1.4): what they add up to is what there is. */
export const checkEvents = async (target: Target, { events }: Ledger): Promise<void> => {
  for (;;) {
    const start = events.cursor === undefined ? '' : `&start=${encodeURIComponent(events.cursor)}`
    const { pagination, data } = await read(target, `/events?size=1000${start}`, 'management_api_key')
    events.cursor = pagination.next
    for (const event of data) {
      if (event.type !== 'token.read') events.toTell.add(event.id)
      if (!/\.(read|used)$/.test(event.type)) events.add(event)
    }
    if (data.length === 0) break
  }
  const tokens = await all(target, '/tokens', 'private_api_key')
  for (const { id, metadata } of tokens) if (metadata.tag.endsWith('.brief')) events.brief.add(id)
  const hasTimePassed = target.clockMs !== events.clockMs
  events.clockMs = target.clockMs
  const there = new Set(tokens.map(({ id }) => id))
  const told = events.living.get('token') ?? new Set()
  for (const id of there) assert.ok(told.has(id), `no event tells that the token ${id} was created`)
  for (const id of told)
    if (!there.has(id))
      assert.ok(events.brief.has(id) || hasTimePassed, `no event tells that the token ${id} is gone`)
  for (const { id, modified_at } of tokens)
    assert.equal(events.updated.has(id), modified_at !== undefined, `events about changes of ${id}`)

  const applications = (await all(target, '/applications', 'management_api_key')).filter(({ name }) =>
    name.startsWith('application:'),
  )
  assert.deepEqual(
    applications.map(({ id }) => id).sort(),
    [...(events.living.get('application') ?? [])].sort(),
    'applications',
  )
  const keys = events.living.get('key') ?? new Set()
  for (const { id } of applications)
    for (const key of await read(target, `/applications/${id}/keys`, 'management_api_key'))
      if (keyNumber(key) !== undefined) assert.ok(keys.has(key.id), `no event tells of the key ${key.id}`)
}

const all = async (
  target: Target,
  path: string,
  by: 'private_api_key' | 'management_api_key',
): Promise<Body[]> => {
  const found: Body[] = []
  for (let page = 1; ; page++) {
    const { data } = await read(target, `${path}?size=100&page=${page}`, by)
    found.push(...data)
    if (data.length < 100) return found
  }
}
