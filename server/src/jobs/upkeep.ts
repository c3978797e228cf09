import type { Log } from '../domain/log.ts'
import { checkMasterKey } from '../operations/maintenance/check-master-key.ts'
import { computeIndexReports, type ReportLeases } from '../operations/maintenance/compute-index-reports.ts'
import { cutLogs } from '../operations/maintenance/cut-logs.ts'
import { noteKeyUse } from '../operations/maintenance/note-key-use.ts'
import { purgeDeadTenants } from '../operations/maintenance/purge-dead-tenants.ts'
import { rotateDataKeys } from '../operations/maintenance/rotate-data-keys.ts'
import { sweepExpired } from '../operations/maintenance/sweep-expired.ts'
import { sweepResults } from '../operations/maintenance/sweep-results.ts'
import { sweepTransients } from '../operations/maintenance/sweep-transients.ts'
import type { Vault } from '../operations/vault/vault.ts'
import type { Job } from './job-timer.ts'
import type { Lease } from './lease.ts'
import { proveLog } from './prove-log.ts'

/**
 * The vault's own work of each minute, by the name of its lease; nodes of other releases use the same names. A job for one node does no
 * harm if two nodes run it. A job over millions of rows has its own lease and timer, so that no other job waits for it.
 */
export const upkeep = (
  vault: Vault,
  log: Log,
  leaseOn: (name: string) => Lease,
  { auditRetentionDays: retentionDays }: { readonly auditRetentionDays: number },
): Record<string, Job[]> => ({
  upkeep: [
    {
      name: 'sweep-transients',
      onOneNode: true,
      run: async stopping => ({ purged: await sweepTransients(vault, stopping) }),
    },
    noteUses(vault),
    {
      // On every node, because each reads its own master key.
      name: 'check-master-key',
      run: async () => {
        await checkMasterKey(vault)
        return {}
      },
    },
    { name: 'rotate-data-keys', run: async () => ({ rotated: await rotateDataKeys(vault) }) },
  ],
  expiry: [
    {
      name: 'sweep-expired',
      onOneNode: true,
      run: async stopping => {
        const { purged, unreadable, unreadableNames, locked } = await sweepExpired(vault, stopping)
        if (unreadable > 0)
          log.error({ count: unreadable, rows: unreadableNames }, 'expired tokens do not open')
        if (locked !== undefined) throw locked
        return { purged }
      },
    },
  ],
  reports: [
    {
      // On every node: each makes the reports of the tenants that it serves, and one lease per tenant picks one of them.
      name: 'index-reports',
      run: async stopping => ({
        examined: await computeIndexReports(vault, { leases: reportLeases(leaseOn), stopping }),
      }),
    },
  ],
  answers: [
    {
      name: 'sweep-results',
      onOneNode: true,
      run: async stopping => ({ purged: await sweepResults(vault, stopping) }),
    },
  ],
  log: [
    {
      name: 'cut-logs',
      onOneNode: true,
      run: async stopping => ({ cut: await cutLogs(vault, { retentionDays, stopping }) }),
    },
  ],
  removal: [
    {
      name: 'purge-dead-tenants',
      onOneNode: true,
      run: async stopping => ({ purged: await purgeDeadTenants(vault, stopping) }),
    },
  ],
})

const reportLeases = (leaseOn: (name: string) => Lease): ReportLeases => {
  const leaseOf = (tenantNumber: number): Lease => leaseOn(`index-report ${tenantNumber}`)
  return {
    take: tenantNumber => leaseOf(tenantNumber).hold(),
    release: tenantNumber => leaseOf(tenantNumber).release(),
  }
}

/** Runs on every node, because a node only knows the keys that it has seen itself. */
const noteUses = (vault: Vault): Job => ({
  name: 'note-key-use',
  run: async () => ({ noted: await noteKeyUse(vault) }),
})

/** Work that cannot wait a minute: C32 allows read activity to lag by a second. */
export const frequentUpkeep = (vault: Vault): Job[] => [
  { name: 'flush-activity', run: async () => ({ marked: await vault.activity.flush() }) },
]

/** Data that is only in memory and would be lost with the process, and the evidence of it. */
export const lastUpkeep = (vault: Vault): Job[] => [
  ...frequentUpkeep(vault),
  noteUses(vault),
  {
    name: 'flush-log',
    run: async () => {
      await vault.acts.flush()
      return {}
    },
  },
  proveLog(vault, { hold: async () => true, release: async () => {} }),
]
