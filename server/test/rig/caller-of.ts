import assert from 'node:assert/strict'
import { Act } from '../../src/domain/acts/act.ts'
import { authenticate } from '../../src/operations/keys/authenticate.ts'
import { asOperator } from '../../src/operations/vault/operator.ts'
import type { Caller, Vault } from '../../src/operations/vault/vault.ts'
import type { Turns } from '../../src/scheduling/scheduler.ts'

/** The caller that holds the key, with work and an act of its own, for tests that call operations directly. */
export const callerOf = async (vault: Vault, key: string): Promise<Caller> => {
  const known = await authenticate(vault, key)
  assert.ok(known, 'nobody holds the key')
  return { ...known, work: endlessTurn, act: someAct() }
}

/** The operator at the command line, as a caller of operations. */
export const operatorOf = (vault: Vault, tenantId: string): Promise<Caller> =>
  asOperator(vault, tenantId, kind, async operator => ({ ...operator, act: someAct() }))

const kind = { operation: 'a test', entityType: 'tenant' } as const

export const someAct = (): Act => new Act(kind, { type: 'operator' }, 'a-trace-of-a-test')

/** For work that nobody waits for. */
export const endlessTurn: Turns = { hasTurn: true, turn: () => undefined }
