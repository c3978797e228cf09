import type { Tenant } from '../../domain/access/tenant.ts'
import { openTenant } from '../grants/grant-rows.ts'
import type { Vault } from '../vault/vault.ts'

export const listTenants = async (vault: Vault): Promise<Tenant[]> =>
  (await vault.store.listTenants()).map(row => openTenant(vault.vaultKeys, row))
