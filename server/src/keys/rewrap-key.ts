import { type KeyProvider, KeyProviderError } from './key-provider.ts'
import { contextOf, type WrappedKey } from './wrapped-key.ts'

/** The same key, under the master key that wraps new ones. */
export const rewrap = async (provider: KeyProvider, owner: string, wrapped: WrappedKey): Promise<Buffer> => {
  const context = contextOf(owner, wrapped)
  const key = await provider.unwrap(wrapped.wrapped, context)
  const again = await provider.wrap(key, context)
  key.fill(0)
  return again
}

/** Whether the key is under the master key that wraps new ones. */
export const isWrappedAsNew = (provider: KeyProvider, owner: string, wrapped: WrappedKey): Promise<boolean> =>
  provider.isCurrent(wrapped.wrapped, contextOf(owner, wrapped))

/** Whether an older master key opens it. A key that does not open at all needs none: no master key here would help. */
export const needsOlderMasterKey = async (
  provider: KeyProvider,
  owner: string,
  wrapped: WrappedKey,
): Promise<boolean> => {
  if (await isWrappedAsNew(provider, owner, wrapped)) return false
  try {
    const opened = await provider.unwrap(wrapped.wrapped, contextOf(owner, wrapped))
    opened.fill(0)
    return true
  } catch (error) {
    if (error instanceof KeyProviderError) return false
    throw error
  }
}
