import assert from 'node:assert/strict'
import { authenticate } from '../../src/operations/keys/authenticate.ts'
import type { Caller, Vault } from '../../src/operations/vault/vault.ts'
import type { Turns } from '../../src/scheduling/scheduler.ts'

/** The caller that holds the key, with work of its own, for tests that call operations directly. */
export const callerOf = async (vault: Vault, key: string): Promise<Caller> => {
  const known = await authenticate(vault, key)
  assert.ok(known, 'nobody holds the key')
  return { ...known, work: endlessTurn }
}

/** For work that nobody waits for. */
export const endlessTurn: Turns = { hasTurn: true, turn: () => undefined }
