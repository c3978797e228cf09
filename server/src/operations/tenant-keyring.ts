import type { KeyProvider } from '../crypto/key-provider.ts'
import { type TenantKeys, unwrapTenantKeys } from '../crypto/keys.ts'
import type { Store } from '../store/port.ts'

export type TenantKeyring = {
  of(tenantNumber: number, tenantId: string): Promise<TenantKeys>
  forget(tenantNumber: number): void
  /** The tenants whose keys are in memory: those that this process has worked for. */
  loaded(): { tenantNumber: number; tenantId: string }[]
}

/** Unwrapped once per tenant and process; a failed unwrapping is not remembered, so a provider can come back. */
export const tenantKeyring = (store: Store, keyProvider: KeyProvider): TenantKeyring => {
  const unwrapped = new Map<number, { tenantId: string; keys: Promise<TenantKeys> }>()
  return {
    of: (tenantNumber, tenantId) => {
      const known = unwrapped.get(tenantNumber)
      if (known !== undefined) return known.keys
      const keys = store.tenantKeys(tenantNumber).then(rows => unwrapTenantKeys(keyProvider, tenantId, rows))
      unwrapped.set(tenantNumber, { tenantId, keys })
      keys.catch(() => unwrapped.delete(tenantNumber))
      return keys
    },
    forget: tenantNumber => {
      unwrapped.delete(tenantNumber)
    },
    loaded: () => [...unwrapped].map(([tenantNumber, { tenantId }]) => ({ tenantNumber, tenantId })),
  }
}
