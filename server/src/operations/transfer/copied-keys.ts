import type { TenantKeys, VaultKeys } from '../../crypto/keys.ts'
import type { KeyProvider } from '../../keys/key-provider.ts'
import { unwrapTenantKeys, unwrapVaultKeys } from '../../keys/unwrap-keys.ts'
import { type Columns, keyRow, tenantRow } from '../../store/columns.ts'
import { type CopyTarget, namedColumns } from '../../store/copying.ts'
import type { KeyRow } from '../../store/rows.ts'
import { tableNamed } from '../../store/tables.ts'
import type { CopyFault } from './copy-fault.ts'

/** The keys of a copy, unwrapped from its own rows. */
export type CopiedKeys = {
  readonly vault: VaultKeys
  /** By the tenant's number inside storage. */
  readonly tenants: ReadonlyMap<number, TenantKeys>
  /** Deleted tenants whose rows are still to be removed. Nothing can open those rows any more. */
  readonly dead: ReadonlySet<number>
}

/** Reports a tenant whose keys do not unwrap as a fault of its own. Its rows do not open either. */
export const loadCopiedKeys = async (
  target: CopyTarget,
  keyProvider: KeyProvider,
  rowsPerPage: number,
): Promise<{ keys: CopiedKeys; faults: CopyFault[] }> => {
  const read = async <Row>(name: string, toRow: (columns: Columns) => Row): Promise<Row[]> => {
    const table = tableNamed(name)
    const reader = target.read(table)
    try {
      const rows: Row[] = []
      for (let page = await reader.next(rowsPerPage); page.length > 0; page = await reader.next(rowsPerPage))
        rows.push(...page.map(row => toRow(namedColumns(table, row))))
      return rows
    } finally {
      await reader.close()
    }
  }
  const vault = await unwrapVaultKeys(keyProvider, await read('vault_keys', keyRow))
  const dead = await read('dead_tenants', ({ tenant }) => Number(tenant))
  const wrapped = Map.groupBy(
    await read('tenant_keys', (columns): KeyRow & { tenant: number } => ({
      tenant: Number(columns.tenant),
      ...keyRow(columns),
    })),
    ({ tenant }) => tenant,
  )
  const tenants = new Map<number, TenantKeys>()
  const faults: CopyFault[] = []
  for (const { tenant, id } of await read('tenants', tenantRow))
    try {
      tenants.set(tenant, await unwrapTenantKeys(keyProvider, id, wrapped.get(tenant) ?? []))
    } catch {
      // Throws if the provider is down, because the failure then says nothing about the row.
      await keyProvider.health()
      faults.push({ row: `tenant_keys of tenant ${id}`, problem: 'does not open' })
    }
  return { keys: { vault, tenants, dead: new Set(dead) }, faults }
}
