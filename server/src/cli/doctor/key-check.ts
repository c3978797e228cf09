import type { Config } from '../../config/config.ts'
import { counted, printable } from '../../domain/text/terminal.ts'
import { KeyProviderError } from '../../keys/key-provider.ts'
import { isRekeyUnfinished } from '../../operations/maintenance/is-rekey-unfinished.ts'
import { countOlderWraps } from '../../operations/maintenance/rewrap-keys.ts'
import { keysUnlessDeleted } from '../../operations/vault/tenant-keyring.ts'
import { configuredOrDevKeyProvider, keyProviderKind } from '../key-providers/configured-key-provider.ts'
import { configuredStorage } from '../storage/configured-storage.ts'
import { withVault } from '../storage/with-vault.ts'
import { vaultFlags } from '../vault-flags.ts'
import type { Check, Finding } from './finding.ts'
import { unfinishedRekey } from './unfinished-rekey.ts'

export const keyProvider: Check = async ({ config }) => {
  const kind = keyProviderKind(config)
  try {
    await configuredOrDevKeyProvider(config).health()
    const older = await withVault(config, countOlderWraps)
    const needsRetired = await findNeedOfRetired(config, older)
    if (needsRetired !== undefined) return [needsRetired]
    const unfinished = older > 0 ? [wrapAnew(config, older)] : kind.endRotation(config)
    return [...unfinished, ...(await tenantKeys(config))]
  } catch (error) {
    if (!(error instanceof KeyProviderError)) throw error
    return [(await findNeedOfRetired(config, 0)) ?? kind.repair(config, error.message)]
  }
}

/** Undefined unless keys in storage open only with a master key that a rotation has taken out. */
const findNeedOfRetired = async (config: Config, older: number): Promise<Finding | undefined> => {
  try {
    const retired = keyProviderKind(config).retired(config)
    if (retired === undefined) return undefined
    const count = (await withVault(config, countOlderWraps, { otherKeyProvider: retired.provider })) - older
    return count > 0 ? retired.bringBack(count) : undefined
  } catch (error) {
    if (!(error instanceof KeyProviderError)) throw error
    return undefined
  }
}

const wrapAnew = (config: Config, older: number): Finding => ({
  check: 'keys',
  problem: `${counted(older, 'key')} in storage can be opened only with an older master key than the first`,
  command: `strongroom master-key rewrap ${vaultFlags(config)}`,
  blocks: false,
})

/** The vault's keys opened, so the master key is right. If a tenant's own keys do not open, somebody changed them. */
const tenantKeys = (config: Config): Promise<Finding[]> =>
  withVault(config, async vault => {
    const findings: Finding[] = []
    for (const { tenant, id } of await vault.store.listTenants())
      try {
        const keys = await keysUnlessDeleted(vault, tenant, id)
        if (keys !== undefined && (await isRekeyUnfinished(vault, { tenantNumber: tenant, keys })))
          findings.push(unfinishedRekey(config, id))
      } catch (error) {
        if (!(error instanceof KeyProviderError)) throw error
        findings.push({
          check: 'keys',
          problem: `tenant ${printable(id)}: its wrapped keys do not open, though the master key is the right one: they are damaged`,
          ...configuredStorage(config).doctor.restore(vaultFlags(config)),
          blocks: false,
        })
      }
    return findings
  })
