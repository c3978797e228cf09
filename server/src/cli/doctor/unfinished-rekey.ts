import type { Config } from '../../config/config.ts'
import { vaultFlags } from '../vault-flags.ts'
import type { Finding } from './finding.ts'

/** The id is the tenant's own, because its keys opened under it. */
export const unfinishedRekey = (config: Config, tenantId: string): Finding => ({
  check: 'keys',
  problem: `tenant ${tenantId}: some of its tokens are not under its new data key: a tenant rekey was interrupted, or is under way`,
  command: `strongroom tenant rekey ${tenantId} --resume ${vaultFlags(config)}`,
  blocks: false,
})
