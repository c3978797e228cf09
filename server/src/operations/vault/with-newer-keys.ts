import { TamperedError } from '../../domain/tampered-error.ts'
import type { Caller, Vault } from './vault.ts'

/**
 * C27: a row that does not open may be sealed with a key that another process made a moment ago. The caller with the keys as they are
 * now, for a second try; throws the error if there are no newer ones, or if it is another error.
 */
export const withNewerKeys = async (
  { keyring }: Vault,
  caller: Caller | undefined,
  error: unknown,
): Promise<Caller> => {
  if (!(error instanceof TamperedError) || caller === undefined) throw error
  const keys = await keyring.lookAgain(caller.tenantNumber, caller.tenant.id)
  if (keys.currentDataVersion === caller.keys.currentDataVersion) throw error
  return { ...caller, keys }
}
