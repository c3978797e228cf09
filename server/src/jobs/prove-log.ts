import type { Vault } from '../operations/vault/vault.ts'
import type { Job } from './job-timer.ts'
import type { Lease } from './lease.ts'
import type { ProofMeters } from './vault-meters.ts'

/**
 * L4: grows the log's trees, signs a checkpoint over them, and brings it to the anchors. The lease is asked for only if there is
 * something to do: to renew it is a commit. Two nodes at once would do no harm.
 */
export const proveLog = ({ evidence, anchoring }: Vault, lease: Lease, meters?: ProofMeters): Job => ({
  name: 'prove-log',
  run: async () => {
    anchoring.look()
    if (!(await evidence.isBehind()) || !(await lease.hold())) {
      meters?.proven()
      return {}
    }
    meters?.unproven()
    const checkpoint = await evidence.checkpoint()
    if (checkpoint === undefined) return {}
    meters?.proven(checkpoint.at)
    anchoring.offer(checkpoint)
    return { size: checkpoint.size }
  },
})
