import type { KeyProvider } from '../../crypto/key-provider.ts'
import { type TenantKeys, unwrapTenantKeys } from '../../crypto/keys.ts'
import type { Store } from '../../store/port.ts'

export type TenantKeyring = {
  of(tenantNumber: number, tenantId: string): Promise<TenantKeys>
  forget(tenantNumber: number): void
  /** The tenants whose keys are in memory: those that this process has worked for. */
  loaded(): { tenantNumber: number; tenantId: string }[]
}

/** What was unwrapped, and from which versions. */
type Unwrapped = { readonly tenantId: string; readonly versions: string; readonly keys: TenantKeys }
type Look = { readonly asOf: number; readonly unwrapped: Promise<Unwrapped> }

/**
 * Unwrapped once per tenant and process. When grants have changed, here or on another node, the versions in
 * storage are looked at again, and only new ones are unwrapped: what is unlocked stays so while the provider is
 * down. A look that failed is not remembered, so a provider, or storage, can come back.
 */
export const tenantKeyring = (store: Store, keyProvider: KeyProvider): TenantKeyring => {
  const looks = new Map<number, Look>()
  const unlocked = new Map<number, Unwrapped>()

  const unwrap = async (tenantNumber: number, tenantId: string): Promise<Unwrapped> => {
    const rows = await store.tenantKeys(tenantNumber)
    const versions = rows.map(({ purpose, version }) => `${purpose} ${version}`).join()
    const before = unlocked.get(tenantNumber)
    if (before?.versions === versions) return before
    return { tenantId, versions, keys: await unwrapTenantKeys(keyProvider, tenantId, rows) }
  }

  return {
    of: async (tenantNumber, tenantId) => {
      const asOf = store.grantsEpoch()
      const last = looks.get(tenantNumber)
      if (last?.asOf === asOf) return (await last.unwrapped).keys
      const look = { asOf, unwrapped: unwrap(tenantNumber, tenantId) }
      looks.set(tenantNumber, look)
      const isLast = (): boolean => looks.get(tenantNumber) === look
      try {
        const unwrapped = await look.unwrapped
        if (isLast()) unlocked.set(tenantNumber, unwrapped)
        return unwrapped.keys
      } catch (error) {
        if (isLast()) looks.delete(tenantNumber)
        throw error
      }
    },
    forget: tenantNumber => {
      looks.delete(tenantNumber)
      unlocked.delete(tenantNumber)
    },
    loaded: () => [...unlocked].map(([tenantNumber, { tenantId }]) => ({ tenantNumber, tenantId })),
  }
}
