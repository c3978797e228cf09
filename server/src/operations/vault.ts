import type { KeyProvider } from '../crypto/key-provider.ts'
import type { TenantKeys, VaultKeys } from '../crypto/keys.ts'
import type { Application, Tenant } from '../domain/application.ts'
import type { Instant } from '../domain/instant.ts'
import type { Store } from '../store/port.ts'

/** What every operation works with; built once, at the edge. */
export type Vault = {
  readonly store: Store
  readonly keyProvider: KeyProvider
  readonly vaultKeys: VaultKeys
  readonly tenantKeys: TenantKeyring
  readonly callers: CallerCache
  readonly clock: () => Instant
}

/** Who calls, and the keys of the tenant that the call acts on. */
export type Caller = {
  /** The tenant's number inside storage. */
  readonly tenantNumber: number
  readonly tenant: Tenant
  readonly application: Application
  readonly keys: TenantKeys
}

export type TenantKeyring = {
  of(tenantNumber: number, tenantId: string): Promise<TenantKeys>
  forget(tenantNumber: number): void
  /** The tenants whose keys are in memory: those that this process has worked for. */
  loaded(): { tenantNumber: number; tenantId: string }[]
}

export type CallerCache = {
  get(keyHash: string): Caller | undefined
  set(keyHash: string, caller: Caller): void
  clear(): void
}
