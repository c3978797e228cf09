import type { TenantKeys } from '../../crypto/keys.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import type { KeyProvider } from '../../keys/key-provider.ts'
import { unwrapTenantKeys } from '../../keys/unwrap-keys.ts'
import type { Store } from '../../store/port.ts'

export type TenantKeyring = {
  of(tenantNumber: number, tenantId: string): Promise<TenantKeys>
  /** Like `of`, but always reads storage. */
  readAgain(tenantNumber: number, tenantId: string): Promise<TenantKeys>
  forget(tenantNumber: number): void
  /** The tenants whose keys are in memory: those that this process has worked for. */
  loaded(): { tenantNumber: number; tenantId: string }[]
}

/** Unwrapped keys, and the versions that they came from. */
type Unwrapped = { readonly tenantId: string; readonly versions: string; readonly keys: TenantKeys }
type KeyRead = { readonly tenantId: string; readonly asOf: number; readonly unwrapped: Promise<Unwrapped> }

/**
 * Unwraps a tenant's keys once per process. When grants change, here or on another node, the versions in storage are read again,
 * and keys are unwrapped only if the versions differ. So unlocked tenants stay unlocked while the provider is down. A failed read
 * is not remembered, so work goes on when the provider or storage is back. Storage may lie about a tenant's number, so remembered
 * keys count only for the tenant id that they were unwrapped for.
 */
export const tenantKeyring = (store: Store, keyProvider: KeyProvider): TenantKeyring => {
  const reads = new Map<number, KeyRead>()
  const unlocked = new Map<number, Unwrapped>()

  const unwrap = async (tenantNumber: number, tenantId: string): Promise<Unwrapped> => {
    const rows = await store.listTenantKeys(tenantNumber)
    const versions = rows.map(({ purpose, version }) => `${purpose} ${version}`).join()
    const before = unlocked.get(tenantNumber)
    if (before?.tenantId === tenantId && before.versions === versions) return before
    return { tenantId, versions, keys: await unwrapTenantKeys(keyProvider, tenantId, rows) }
  }

  const read = async (tenantNumber: number, tenantId: string, asOf: number): Promise<TenantKeys> => {
    const current = { tenantId, asOf, unwrapped: unwrap(tenantNumber, tenantId) }
    reads.set(tenantNumber, current)
    const isLast = (): boolean => reads.get(tenantNumber) === current
    try {
      const unwrapped = await current.unwrapped
      if (isLast()) unlocked.set(tenantNumber, unwrapped)
      return unwrapped.keys
    } catch (error) {
      if (isLast()) reads.delete(tenantNumber)
      throw error
    }
  }

  return {
    of: async (tenantNumber, tenantId) => {
      const asOf = store.grantsEpoch()
      const last = reads.get(tenantNumber)
      return last?.asOf === asOf && last.tenantId === tenantId
        ? (await last.unwrapped).keys
        : read(tenantNumber, tenantId, asOf)
    },
    readAgain: (tenantNumber, tenantId) => read(tenantNumber, tenantId, store.grantsEpoch()),
    forget: tenantNumber => {
      reads.delete(tenantNumber)
      unlocked.delete(tenantNumber)
    },
    loaded: () => [...unlocked].map(([tenantNumber, { tenantId }]) => ({ tenantNumber, tenantId })),
  }
}

/**
 * Undefined for a tenant that was deleted after its row was read. It has no keys any more, which is no failure of the key
 * provider.
 */
export const keysUnlessDeleted = async (
  { store, keyring }: { readonly store: Store; readonly keyring: TenantKeyring },
  tenantNumber: number,
  tenantId: string,
  read: TenantKeyring['of'] = keyring.of,
): Promise<TenantKeys | undefined> => {
  try {
    return await read(tenantNumber, tenantId)
  } catch (error) {
    if ((await store.getTenant(tenantNumber))?.id === tenantId) throw error
    return undefined
  }
}

type KeyHolder = {
  readonly tenantNumber: number
  readonly tenant: { readonly id: string }
  readonly keys: TenantKeys
}

/**
 * C27: a row that does not open may be sealed with a key that another process made a moment ago. Returns the caller with the keys as
 * they are now, for a second try. Throws the error if there are no newer keys, or if the error is another one.
 */
export const withNewerKeys = async <Caller extends KeyHolder>(
  keyring: TenantKeyring,
  caller: Caller | undefined,
  error: unknown,
): Promise<Caller> => {
  if (!(error instanceof TamperedError) || caller === undefined) throw error
  const keys = await keyring.readAgain(caller.tenantNumber, caller.tenant.id)
  if (keys.currentDataVersion === caller.keys.currentDataVersion) throw error
  return { ...caller, keys }
}
