import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VaultError } from '../../src/domain/errors.ts'
import { commitSet } from '../../src/operations/writing/commit.ts'
import { type Store, StoreOverloadedError, StoreUnavailableError } from '../../src/store/port.ts'
import { writeSet } from '../store/contract/rig.ts'

const failing = (error: Error) => ({
  store: { commit: () => Promise.reject(error) } as unknown as Store,
  changesWaiting: { count: 0 },
})
const set = writeSet(1, { counters: [{ name: 'n', by: 1 }] })

test('whose backlog of writes is too large is told that the vault is overloaded (C2, C37)', async () => {
  await assert.rejects(
    commitSet(failing(new StoreOverloadedError()), set),
    error => error instanceof VaultError && error.code === 'overloaded',
  )
})

test('any other failure of storage stays one (C2)', async () => {
  const failure = new StoreUnavailableError('the write was not stored')
  await assert.rejects(commitSet(failing(failure), set), failure)
})
