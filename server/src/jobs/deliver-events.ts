import { pace } from '../domain/pace.ts'
import type { Instant } from '../domain/time/instant.ts'
import type { Deliverer } from '../operations/delivering/deliverer.ts'
import type { Job } from './job-timer.ts'
import type { Lease } from './lease.ts'

/**
 * E4: delivers events to webhooks, on the node that holds the lease. It is asked for, and renewed, only now and then, since that is a
 * commit, and not at all while there are no webhooks. Two nodes at once would deliver some events twice.
 */
export const deliverEvents = (deliverer: Deliverer, lease: Lease, clock: () => Instant): Job => {
  let askedAt = Number.NEGATIVE_INFINITY
  let isOurs = false
  return {
    name: 'deliver-events',
    run: async () => {
      if (!isOurs && !(await deliverer.isNeeded())) return {}
      const now = clock()
      if (now - askedAt >= pace.deliverRenewMs || now < askedAt) {
        const wasOurs = isOurs
        isOurs = await lease.hold()
        askedAt = now
        if (wasOurs && !isOurs) await deliverer.stop({ keeps: false })
      }
      if (isOurs) await deliverer.look()
      return {}
    },
  }
}
