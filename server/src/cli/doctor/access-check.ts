import { permissionsByType } from '../../domain/access/permissions.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import { hasManagementKey } from '../../operations/grants/grant-checks.ts'
import { loadGrants } from '../../operations/grants/load-grants.ts'
import { configuredStorage } from '../storage/configured-storage.ts'
import { withVault } from '../storage/with-vault.ts'
import { vaultFlags } from '../vault-flags.ts'
import type { Check, Context, Finding } from './finding.ts'

export const access: Check = async (context, notes) => {
  try {
    return await accessOfTenants(context, notes)
  } catch (error) {
    if (!(error instanceof TamperedError)) throw error
    return [
      {
        check: 'access',
        problem: error.message,
        ...configuredStorage(context.config).doctor.restore(vaultFlags(context.config)),
        blocks: true,
      },
    ]
  }
}

const accessOfTenants = ({ config, machine }: Context, notes: string[]): Promise<Finding[]> =>
  withVault(config, async vault => {
    const now = machine.now()
    const findings: Finding[] = []
    for (const { tenant, id } of await vault.store.listTenants()) {
      const { grants } = await loadGrants(vault, { tenantNumber: tenant, tenant: { id } })
      if (grants.tenant.settings.ephemeralProxy)
        notes.push(
          `tenant ${id} has disable_ephemeral_proxy "false": whoever holds token:use on a token can send it anywhere, and so read it`,
        )
      if (!hasManagementKey(grants, now))
        findings.push({
          check: 'access',
          problem: `tenant ${id} has no live management key`,
          command: `strongroom app create ${vaultFlags(config)} --tenant ${id} --name management --type management --permissions ${permissionsByType.management.join(',')}`,
          blocks: false,
        })
    }
    return findings
  })
