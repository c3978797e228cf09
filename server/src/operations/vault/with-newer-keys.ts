import { TamperedError } from '../../domain/tampered-error.ts'
import type { Caller, Vault } from './vault.ts'

/**
 * C27: a row that does not open may be sealed with a key that another process made a moment ago. Then the work is done once more,
 * with the keys as they are now.
 */
export const withNewerKeys = async <A>(
  { keyring }: Vault,
  caller: Caller,
  work: (caller: Caller) => Promise<A>,
): Promise<A> => {
  try {
    return await work(caller)
  } catch (error) {
    if (!(error instanceof TamperedError)) throw error
    const keys = await keyring.lookAgain(caller.tenantNumber, caller.tenant.id)
    if (keys.currentDataVersion === caller.keys.currentDataVersion) throw error
    return work({ ...caller, keys })
  }
}
