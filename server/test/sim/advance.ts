import assert from 'node:assert/strict'
import { changesContent, type Effect, type GuardedChange, type WriteSet } from '../../src/store/write-set.ts'
import { patchedBy, patchMatches } from './judge.ts'
import { definitionsOf, type Operation } from './operation.ts'
import type { Role } from './requests.ts'
import {
  chosenId,
  isDeduplicated,
  isLiving,
  type KeptAnswer,
  keptMs,
  matchesInTheWay,
  monthOf,
  newToken,
  oldestMatches,
  rightsOf,
  type SimTenant,
  shownByPatch,
  viewToken,
  type World,
  withoutToken,
  withTenant,
  withToken,
  writeTransformIn,
} from './world.ts'

type Change<K extends GuardedChange['kind']> = Extract<GuardedChange, { kind: K }>

const guardedOf = <K extends GuardedChange['kind']>(set: WriteSet, kind: K): Change<K>[] =>
  set.guarded.filter((change): change is Change<K> => change.kind === kind)
const effectsOf = <K extends Effect['kind']>(set: WriteSet, kind: K): Extract<Effect, { kind: K }>[] =>
  set.effects.filter((effect): effect is Extract<Effect, { kind: K }> => effect.kind === kind)

/** The world after a write that storage accepted. Throws if the write should not have been made. */
export const advance = (
  world: World,
  set: WriteSet,
  op: Operation | undefined,
  tenantAt: (tenantNumber: number) => number,
  /** The world in which the operation began. */
  begun: World,
): World => {
  // A record of a read, or of a refusal: it changes nothing that the model knows.
  if (!changesContent(set)) return world
  const index = tenantAt(set.tenant)
  const tenant = world.tenants[index]
  if (tenant === undefined) return world
  assert.ok(!tenant.isDeleted, 'a write to a tenant that is gone')

  const marks = effectsOf(set, 'markActive')
  if (marks.length > 0) return marks.reduce((next, mark) => markActive(next, index, mark), world)
  const gone = guardedOf(set, 'deleteToken').length
  const isPurge = gone > 0 && op?.request.kind !== 'delete'
  // A write that takes the place of an expired token removes it as well.
  const swept = isPurge ? purge(world, index, set) : world
  if (isPurge && gone === set.guarded.length) return swept

  assert.ok(op !== undefined && op.request.kind !== 'sweep', 'a write that nobody asked for')
  assert.ok(op.wroteAt === undefined, 'a request that wrote twice')
  const { next, expected } = write(swept, index, set, op, begun.tenants[index])
  op.expected = expected
  return keepAnswer(next, index, set, op)
}

const markActive = (
  world: World,
  index: number,
  { ids, month }: Extract<Effect, { kind: 'markActive' }>,
): World => {
  const tenant = world.tenants[index]!
  const tokens = new Map(tenant.tokens)
  let marked = 0
  for (const id of ids) {
    const token = tokens.get(id)
    if (token === undefined || token.activeMonth >= month) continue
    tokens.set(id, { ...token, activeMonth: month })
    marked++
  }
  const active = new Map(tenant.active).set(month, (tenant.active.get(month) ?? 0) + marked)
  return withTenant(world, index, { tokens, active })
}

/** Only expired tokens may be removed without a request. */
const purge = (world: World, index: number, set: WriteSet): World => {
  let next = world
  for (const { id } of guardedOf(set, 'deleteToken')) {
    const tenant = next.tenants[index]!
    const token = tenant.tokens.get(id)
    assert.ok(token !== undefined && !isLiving(token, world.now), `${id} was purged before its time`)
    next = withTenant(next, index, withoutToken(tenant, id))
  }
  return next
}

const keepAnswer = (world: World, index: number, set: WriteSet, op: Operation): World => {
  const name = op.wire?.resultName
  const isKept = guardedOf(set, 'keepResult').length > 0
  assert.equal(isKept, name !== undefined, 'an answer is kept exactly where a key was sent')
  if (name === undefined) return world
  const tenant = world.tenants[index]!
  const before = tenant.results.get(name)
  assert.ok(before === undefined || before.until <= world.now, 'a key that was used was written again')
  // Where elements met other tokens, only the answer shows what they met.
  const isWhole = !JSON.stringify(op.expected?.body ?? null).includes('null')
  const kept: KeptAnswer = {
    status: op.expected!.status,
    until: world.now + keptMs,
    ...(isWhole && { body: op.expected!.body }),
  }
  return withTenant(world, index, { results: new Map(tenant.results).set(name, kept) })
}

type Written = { readonly next: World; readonly expected: { status: number; body: unknown } }

const write = (
  world: World,
  index: number,
  set: WriteSet,
  op: Operation,
  begun: SimTenant | undefined,
): Written => {
  const { request, wire, caller } = op
  const tenant = world.tenants[index]!
  assert.ok(request.kind !== 'sweep' && wire !== undefined && caller !== undefined)
  const answered = (status: number, change: Partial<SimTenant>, body?: unknown): Written => ({
    next: withTenant(world, index, change),
    expected: { status, body },
  })
  const rights = rightsOf(caller, request.as)
  switch (request.kind) {
    case 'create':
    case 'tokenize':
      return create(world, index, set, op.request, caller, begun)
    case 'patch': {
      if (guardedOf(set, 'updateToken').length === 0) return answered(200, {})
      const before = tenant.tokens.get(wire.params.id)
      assert.ok(isLiving(before, world.now), 'a patch of a token that is not there')
      const after = patchedBy(op, caller, before, world.now)
      const matches = patchMatches(caller, tenant, before, after, request.patch.deduplicate, world.now)
      if (!matches.some(({ id }) => id === after.id))
        assert.deepEqual(matchesInTheWay(matches, begun), [], 'a patch that made a duplicate')
      const shown = shownByPatch(rights, request.patch, after)
      return answered(200, withToken(tenant, after), viewToken(tenant, after, shown, world.now))
    }
    case 'delete': {
      const token = tenant.tokens.get(wire.params.id)
      assert.ok(isLiving(token, world.now), 'a token that is not there was deleted')
      return answered(204, withoutToken(tenant, token.id))
    }
    case 'settings': {
      const { fingerprint, deduplicate } = request
      return answered(200, { settings: { fingerprint, deduplicate } })
    }
    case 'grant':
      return answered(200, { clerk: request.rules })
    case 'renewKey':
      return answered(201, {
        keys: new Set([...tenant.keys, ...effectsOf(set, 'putApiKey').map(({ row }) => row.id)]),
      })
    case 'revokeKey':
      assert.ok(tenant.keys.has(wire.params.keyId), 'a key that is not there was revoked')
      return answered(204, { keys: new Set([...tenant.keys].filter(id => id !== wire.params.keyId)) })
    case 'deleteTenant':
      return answered(204, { isDeleted: true, tokens: new Map(), keys: new Set() })
    default:
      throw new Error(`${request.kind} wrote something`)
  }
}

const create = (
  world: World,
  index: number,
  set: WriteSet,
  request: Operation['request'],
  caller: SimTenant,
  begun: SimTenant | undefined,
): Written => {
  assert.ok(request.kind === 'create' || request.kind === 'tokenize')
  const made = guardedOf(set, 'insertToken').map(({ row }) => row.id)
  const by: Role = request.as
  let tenant = world.tenants[index]!
  const bodies = definitionsOf(request).map(definition => {
    const chosen = chosenId(definition)
    // In a payload only the bare text has no chosen id.
    const id = chosen ?? made.find(one => !/^(card|token)-/.test(one))
    if (id === undefined || !made.includes(id)) return undefined
    made.splice(made.indexOf(id), 1)
    const token = newToken(definition, { id, by, now: world.now, settings: caller.settings })
    assert.ok(!tenant.tokens.has(id), `the id ${id} was given twice`)
    if (isDeduplicated(caller.settings, definition.deduplicate))
      assert.deepEqual(
        matchesInTheWay(oldestMatches(tenant, world.now, token), begun),
        [],
        'a duplicate was created',
      )
    tenant = {
      ...tenant,
      ...withToken(tenant, token),
      lastCreated: new Map(tenant.lastCreated).set(token.type, world.now),
      active: new Map(tenant.active).set(
        monthOf(world.now),
        (tenant.active.get(monthOf(world.now)) ?? 0) + 1,
      ),
    }
    if (request.kind === 'tokenize' && chosen === undefined) return id
    const shown = writeTransformIn(rightsOf(caller, by), 'token:create', token)
    return { ...viewToken(tenant, token, shown, world.now), _extras: { deduplicated: false } }
  })
  assert.deepEqual(made, [], 'tokens that nobody asked for')
  return {
    next: withTenant(world, index, tenant),
    expected: request.kind === 'create' ? { status: 201, body: bodies[0] } : { status: 200, body: bodies },
  }
}
