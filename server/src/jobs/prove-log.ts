import type { Vault } from '../operations/vault/vault.ts'
import type { Job } from './job-timer.ts'
import type { Lease } from './lease.ts'

/**
 * L4: grows the log's trees, signs a checkpoint over them, and brings it to the anchors. The lease is asked for only if there is
 * something to do: to renew it is a commit. Two nodes at once would do no harm.
 */
export const proveLog = ({ evidence, anchoring }: Vault, lease: Lease): Job => ({
  name: 'prove-log',
  run: async () => {
    anchoring.look()
    if (!(await evidence.isBehind()) || !(await lease.hold())) return {}
    const checkpoint = await evidence.checkpoint()
    if (checkpoint === undefined) return {}
    anchoring.offer(checkpoint)
    return { size: checkpoint.size }
  },
})
