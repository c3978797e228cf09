import { dayMs } from '../domain/time/instant.ts'
import type { Vault } from '../operations/vault/vault.ts'
import { vaultFamilies } from '../telemetry/families.ts'
import type { Gauge } from '../telemetry/meters.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Job } from './job-timer.ts'

const keysSoonMs = 14 * dayMs

/** How far the proofs of the log are behind it, told by the job that makes them. */
export type ProofMeters = {
  /** There are records that no checkpoint covers, and this process is about to make one. */
  unproven(): void
  /** There are none, or they are another node's affair. */
  proven(checkpointAt?: number): void
}

/** Metrics of the vault's state. What must be read from storage is read by the job, once a minute. */
export const vaultMeters = (
  { acts, anchoring, store, clock }: Vault,
  telemetry: Telemetry,
): { readonly proofs: ProofMeters; readonly takeStock: Job } => {
  const meters = telemetry.add(vaultFamilies)
  const gauges = {
    waiting: meters.gauge('logWaiting'),
    waitingBytes: meters.gauge('logWaitingBytes'),
    oldest: meters.gauge('logOldest'),
    checkpointAt: meters.gauge('checkpointAt'),
    unproven: meters.gauge('unproven'),
    anchorFailing: meters.gauge('anchorFailing'),
    keyUntil: meters.gauge('keyUntil'),
    keysExpiring: meters.gauge('keysExpiring'),
  } satisfies Record<string, Gauge>
  let unprovenSince: number | undefined
  telemetry.beforeEach(() => {
    const { records, bytes, oldestAt } = acts.waiting
    gauges.waiting.set(records)
    gauges.waitingBytes.set(bytes)
    gauges.oldest.setMs(oldestAt === undefined ? 0 : Math.max(0, clock() - oldestAt))
    gauges.unproven.setMs(unprovenSince === undefined ? 0 : performance.now() - unprovenSince)
    const { state } = anchoring
    gauges.anchorFailing.set(state === undefined || state === 'good' ? 0 : 1)
  })
  return {
    proofs: {
      unproven: () => {
        unprovenSince ??= performance.now()
      },
      proven: checkpointAt => {
        unprovenSince = undefined
        if (checkpointAt !== undefined) gauges.checkpointAt.set(checkpointAt)
      },
    },
    takeStock: {
      name: 'take-stock',
      run: async () => {
        gauges.checkpointAt.set((await store.newestCheckpoint())?.at)
        const now = clock()
        const { next, soon } = await store.keyExpiries(now, now + keysSoonMs)
        gauges.keyUntil.set(next)
        gauges.keysExpiring.set(soon)
        return { keys: soon }
      },
    },
  }
}
