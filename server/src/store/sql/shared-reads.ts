import * as columns from '../columns.ts'
import type { Store } from '../port.ts'
import type { Reading } from './dialect.ts'
import { logReads } from './log-reads.ts'
import { scanMatches, scanTerms } from './scans.ts'
import * as statements from './statements.ts'

/** The part of a store that is the same on every engine. */
export const sharedReads = (reading: Reading) => {
  const { row, rows, tokens } = reading
  return {
    ...logReads(reading),

    listExpiredTokens: (now, { offset, limit }) => tokens(statements.listExpiredTokens, [now, limit, offset]),

    countDueTransients: ({ after, upTo }) =>
      rows(statements.dueTransients, [after, upTo], ({ tenant, due }) => ({
        tenant: Number(tenant),
        due: Number(due),
      })),
    newestTokenAt: async () => {
      const at = await row(statements.newestTokenAt, [], newest => newest.at)
      return at === undefined || at === null ? undefined : Number(at)
    },

    scanTokens: (tenant, after, limit) => tokens(statements.tokensBehind, [tenant, after ?? '', limit]),
    scanTerms: (...scan) => scanTerms(rows, ...scan),
    scanMatches: (...scan) => scanMatches(rows, ...scan),

    getResult: (tenant, hash, now) => row(statements.resultByHash, [tenant, hash, now], columns.resultRow),
    getReport: (tenant, name) => row(statements.reportByName, [tenant, name], columns.sealedBytes),

    getDelivery: (tenant, webhookId, id) =>
      row(statements.deliveryById, [tenant, webhookId, id], columns.deliveryRow),
    listDeliveries: (tenant, webhookId, after, limit) =>
      rows(statements.deliveriesBehind, [tenant, webhookId, after, limit], columns.deliveryRow),
    countDeliveries: async (tenant, webhookId) =>
      (await row(statements.deliveryCount, [tenant, webhookId], ({ count }) => Number(count))) ?? 0,
    listDueDeliveries: (tenant, webhookId, now, limit) =>
      rows(statements.dueDeliveries, [tenant, webhookId, now, limit], columns.deliveryRow),
    listDeliveryOwners: tenant =>
      rows(statements.deliveryOwners, [tenant], ({ webhook_id }) => String(webhook_id)),

    listVaultKeys: () => rows(statements.vaultKeys, [], columns.keyRow),
    getTenant: tenant => row(statements.tenantByNumber, [tenant], columns.tenantRow),
    listTenants: () => rows(statements.allTenants, [], columns.tenantRow),
    getApplication: (tenant, id) => row(statements.applicationById, [tenant, id], columns.applicationRow),
    listApplications: tenant => rows(statements.applicationsOfTenant, [tenant], columns.applicationRow),
    listResources: tenant => rows(statements.resourcesOfTenant, [tenant], columns.resourceRow),
    findResource: (kind, hash) => row(statements.resourceByHash, [hash, kind], columns.resourceRow),
    listResourceOwners: kind => rows(statements.resourceOwners, [kind], columns.resourceOwner),

    keyExpiries: async (now, until) => {
      const found = await row(statements.keyExpiries, [now, now, until], ({ next, soon }) => ({
        next: next === null ? undefined : Number(next),
        soon: Number(soon),
      }))
      return found ?? { next: undefined, soon: 0 }
    },
    health: async () => {
      await row(statements.health, [], ({ up }) => up)
    },
  } satisfies Partial<Store>
}
