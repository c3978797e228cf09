import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { apiKeyName, authenticate, callerCache } from '../../src/operations/keys/authenticate.ts'
import { noteKeyUse } from '../../src/operations/maintenance/note-key-use.ts'
import { keyUses } from '../../src/operations/vault/key-uses.ts'
import type { Vault } from '../../src/operations/vault/vault.ts'
import { owner, TestVault } from '../rig/test-vault.ts'

test('callers are remembered until a grant changes, and not across the change (C27.2)', () => {
  let epoch = 1
  const callers = callerCache<{ tenantNumber: number }>(() => epoch)
  const caller = { tenantNumber: 7 }
  callers.set('key', caller, epoch)
  assert.equal(callers.get('key'), caller)
  epoch++
  assert.equal(callers.get('key'), undefined)
  callers.set('key', caller, epoch - 1)
  assert.equal(callers.get('key'), undefined)
})

test('a caller is looked at once in a slice of work, and again in the next (C27.2)', () => {
  let [epoch, slice]: [number, number | undefined] = [1, 1]
  const callers = callerCache<{ tenantNumber: number }>(
    () => epoch,
    () => slice,
  )
  const caller = { tenantNumber: 7 }
  callers.set('key', caller, epoch)
  epoch++
  for (const next of [2, undefined]) {
    slice = next
    assert.equal(callers.get('key'), undefined)
    callers.set('key', caller, epoch)
    assert.equal(callers.get('key'), caller)
    epoch++
  }
  assert.equal(callers.get('key'), undefined)
})

test('a change of grants makes nobody a stranger (C37.1)', () => {
  let epoch = 1
  const callers = callerCache<{ tenantNumber: number }>(() => epoch)
  assert.equal(callers.lastTenant('key'), undefined)
  callers.set('key', { tenantNumber: 7 }, epoch)
  epoch++
  assert.equal(callers.get('key'), undefined)
  assert.equal(callers.lastTenant('key'), 7)
})

test('no caller is remembered under the text of a key (C30.2)', async () => {
  const vault = await TestVault.start()
  const { keys } = await vault.tenant({ owner })
  const { mock: taken } = mock.method(Map.prototype, 'set')
  try {
    for (let n = 0; n < 2; n++) assert.ok(await authenticate(vault.service.vault, keys.owner))
    assert.ok(taken.calls.some(({ arguments: [name] }) => name === apiKeyName(keys.owner)))
    for (const {
      arguments: [name],
    } of taken.calls)
      assert.ok(!String(name).includes(keys.owner))
  } finally {
    taken.restore()
    await vault.stop()
  }
})

test('thousands of keys in use are remembered, and the newer ones if there are too many (C27.2)', () => {
  const callers = callerCache<{ tenantNumber: number }>(() => 1)
  const known = (count: number): number =>
    Array.from({ length: count }, (_, key) => callers.get(`key ${key}`)).filter(
      caller => caller !== undefined,
    ).length
  for (let key = 0; key < 10_000; key++) callers.set(`key ${key}`, { tenantNumber: key }, 1)
  assert.equal(known(10_000), 10_000)
  callers.set('key 10000', { tenantNumber: 10_000 }, 1)
  assert.equal(callers.get('key 10000')?.tenantNumber, 10_000)
  assert.ok(known(10_001) > 5_000)
})

test('the latest use of each key is reported once, however often the key was used (C29.7)', () => {
  const uses = keyUses()
  uses.note(Buffer.from('one'), 3)
  uses.note(Buffer.from('one'), 5)
  uses.note(Buffer.from('two'), 4)
  uses.note(Buffer.from('one'), 4)
  assert.deepEqual(
    uses.take().map(({ hash, at }) => [Buffer.from(hash).toString(), at]),
    [
      ['one', 5],
      ['two', 4],
    ],
  )
  assert.deepEqual(uses.take(), [])
})

test('uses that storage did not accept are reported again, and do not hide later ones (C29.7)', async () => {
  const uses = keyUses()
  const [one, two] = [Buffer.from('one'), Buffer.from('two')]
  const store = {
    noteKeyUse: async () => {
      uses.note(one, 7)
      throw new Error('no room')
    },
  }
  uses.note(one, 3)
  uses.note(two, 4)
  await assert.rejects(noteKeyUse({ store, keyUses: uses } as object as Vault))
  assert.deepEqual(
    uses.take().map(({ at }) => at),
    [7, 4],
  )
})
