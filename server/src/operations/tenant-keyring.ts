import type { KeyProvider } from '../crypto/key-provider.ts'
import { type TenantKeys, unwrapTenantKeys } from '../crypto/keys.ts'
import type { Store } from '../store/port.ts'

export type TenantKeyring = {
  of(tenantNumber: number, tenantId: string): Promise<TenantKeys>
  forget(tenantNumber: number): void
  /** The tenants whose keys are in memory: those that this process has worked for. */
  loaded(): { tenantNumber: number; tenantId: string }[]
}

/** What was unwrapped, and from which versions. */
type Unwrapped = { readonly versions: string; readonly keys: TenantKeys }
type Entry = { readonly tenantId: string; readonly asOf: number; readonly unwrapped: Promise<Unwrapped> }

/**
 * Unwrapped once per tenant and process. When grants have changed, here or on another node, the versions in
 * storage are looked at again, and only new ones are unwrapped: what is unlocked stays so while the provider is
 * down. A failed unwrapping is not remembered, so a provider can come back.
 */
export const tenantKeyring = (store: Store, keyProvider: KeyProvider): TenantKeyring => {
  const entries = new Map<number, Entry>()

  const unwrap = async (tenantNumber: number, tenantId: string, known?: Entry): Promise<Unwrapped> => {
    const rows = await store.tenantKeys(tenantNumber)
    const versions = rows.map(({ purpose, version }) => `${purpose} ${version}`).join()
    const before = await known?.unwrapped
    if (before?.versions === versions) return before
    return { versions, keys: await unwrapTenantKeys(keyProvider, tenantId, rows) }
  }

  return {
    of: async (tenantNumber, tenantId) => {
      const asOf = store.grantsEpoch()
      const known = entries.get(tenantNumber)
      if (known?.asOf === asOf) return (await known.unwrapped).keys
      const entry = { tenantId, asOf, unwrapped: unwrap(tenantNumber, tenantId, known) }
      entries.set(tenantNumber, entry)
      try {
        return (await entry.unwrapped).keys
      } catch (error) {
        if (entries.get(tenantNumber) === entry) {
          if (known === undefined) entries.delete(tenantNumber)
          else entries.set(tenantNumber, known)
        }
        throw error
      }
    },
    forget: tenantNumber => {
      entries.delete(tenantNumber)
    },
    loaded: () => [...entries].map(([tenantNumber, { tenantId }]) => ({ tenantNumber, tenantId })),
  }
}
