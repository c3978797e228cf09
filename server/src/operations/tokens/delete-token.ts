import { decisionFor, requireCovered } from '../../domain/access/access.ts'
import { VaultError } from '../../domain/errors.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { commit } from '../writing/commit.ts'
import { retryOnConflict, tokenName } from '../writing/retry-on-conflict.ts'
import { loadToken } from './load-token.ts'
import { TokenWrites } from './token-writes.ts'

/** §4.6 */
export const deleteToken = (vault: Vault, caller: Caller, id: string): Promise<void> =>
  retryOnConflict(vault, tokenName(caller, id), async () => {
    const token = await loadToken(vault, caller, id)
    if (token === undefined) throw new VaultError('notFound')
    requireCovered(caller.application, 'token:delete', token)
    await vault.activity.settle(caller.tenantNumber, id)
    const writes = new TokenWrites(caller)
    writes.remove(token)
    caller.act.touches(
      token,
      'token:delete',
      decisionFor(caller.application, 'token:delete', token.containers),
    )
    return { outcome: await commit(vault, caller, writes.changes), answer: undefined }
  })
