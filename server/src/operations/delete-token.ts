import { VaultError } from '../domain/errors.ts'
import { requireCovered } from './tokens/access-checks.ts'
import { loadToken } from './tokens/load-token.ts'
import { TokenWrites } from './tokens/token-writes.ts'
import type { Caller, Vault } from './vault.ts'

const attemptsMax = 64

/** §4.6 */
export const deleteToken = async (vault: Vault, caller: Caller, id: string): Promise<void> => {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const token = await loadToken(vault, caller, id)
    if (token === undefined) throw new VaultError('notFound')
    requireCovered(caller, 'token:delete', token)
    const writes = new TokenWrites(caller)
    writes.remove(token)
    const outcome = await caller.commit(writes.set, null)
    if (outcome.committed) return
  }
  throw new VaultError('writeContention')
}
