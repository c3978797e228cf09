import type { TenantKeys } from '../../crypto/keys.ts'
import { type IndexReport, IndexSurvey } from '../../domain/index-report/index-report.ts'
import { pace } from '../../domain/pace.ts'
import { TamperedError } from '../../domain/tampered-error.ts'
import { type Instant, isPending, pendingDeadlines } from '../../domain/time/instant.ts'
import { everyType } from '../../domain/tokens/index-terms.ts'
import type { TokenQuery } from '../../store/port.ts'
import type { TokenRow } from '../../store/rows.ts'
import { readBatch } from '../finding/rows-in-batches.ts'
import { hashGroup, hashTerm } from '../tokens/hash-terms.ts'
import { openIfWhole } from '../tokens/token-rows.ts'
import { sealsCounter } from '../vault/counters.ts'
import type { UnlockedTenant, Vault } from '../vault/vault.ts'
import { eachLoadedTenant, type LoadedTenant } from './each-loaded-tenant.ts'
import {
  type IndexReportState,
  indexReportName,
  loadIndexReport,
  sealIndexReport,
} from './index-report-state.ts'

/** Decides which node makes the report of a tenant, because two would do the same work. */
export type ReportLeases = {
  /** False while another node makes it. */
  take(tenantNumber: number): Promise<boolean>
  /** The report is made. */
  release(tenantNumber: number): Promise<void>
}

const aloneOnStorage: ReportLeases = { take: async () => true, release: async () => {} }

/**
 * Storage alone does not reveal which field an index entry belongs to, so the figures come from opened tokens. Each run takes a
 * slice of each tenant, at about 36 µs a token, and seals the sketches in between. A million tokens take 50 minutes, ten million
 * take eight hours, at one percent of a core. A tenant whose keys are not in memory is left out: nobody works with it, and its
 * first request brings it back.
 */
export const computeIndexReports = async (
  vault: Vault,
  {
    leases = aloneOnStorage,
    perTenant = pace.reportRowsPerTenant,
    perRun = pace.reportRowsPerRun,
    stopping,
  }: { leases?: ReportLeases; perTenant?: number; perRun?: number; stopping?: AbortSignal } = {},
): Promise<number> => {
  let examined = 0
  await eachLoadedTenant(vault, rotated(vault), async tenant => {
    if (examined >= perRun || stopping?.aborted) return
    examined += await advance(vault, tenant, { leases, rowsMax: perTenant, stopping })
  })
  return examined
}

/** Each run begins with a different tenant, so that a few large ones do not keep the others waiting. */
const rotated = (vault: Vault): LoadedTenant[] => {
  const tenants = vault.keyring.loaded()
  const first = Math.floor(vault.clock() / pace.sweepIntervalMs) % Math.max(1, tenants.length)
  return [...tenants.slice(first), ...tenants.slice(0, first)]
}

/**
 * Examines one slice of one tenant, and returns how many tokens it examined. If it is told to stop, it leaves the slice to
 * another run.
 */
const advance = async (
  vault: Vault,
  tenant: UnlockedTenant,
  { leases, rowsMax, stopping }: { leases: ReportLeases; rowsMax: number; stopping: AbortSignal | undefined },
): Promise<number> => {
  const now = vault.clock()
  const { report, pass } = await load(vault, tenant)
  if (pass === undefined && report !== undefined && isFresh(report, now)) return 0
  if (!(await leases.take(tenant.tenantNumber))) return 0

  const survey = new IndexSurvey(term => hashTerm(tenant, term), pass)
  let query: TokenQuery = {
    tenant: tenant.tenantNumber,
    now,
    groups: [hashGroup(tenant, everyType)],
    ...(pass?.after && { after: pass.after }),
  }
  const work = vault.scheduler.background('index-reports')
  for (let examined = 0; ; ) {
    const limit = Math.min(pace.reportBatchRows, rowsMax - examined)
    const { rows, isCut } = await readBatch(vault, { work }, query, { offset: 0, limit })
    for (const row of rows) {
      if (!work.hasTurn) await work.turn()
      if (stopping?.aborted) return 0
      addToken(survey, row, tenant.keys)
    }
    examined += rows.length
    const last = rows.at(-1)
    if (last === undefined || (rows.length < limit && !isCut)) {
      await save(vault, tenant, { report: survey.report(now) })
      await leases.release(tenant.tenantNumber)
      return examined
    }
    const after = { createdAt: last.createdAt, id: last.id }
    if (examined >= rowsMax) {
      await save(vault, tenant, { ...(report && { report }), pass: survey.passUpTo(after) })
      return examined
    }
    query = { ...query, after }
    await work.turn()
  }
}

const isFresh = ({ computedAt }: IndexReport, now: Instant): boolean =>
  isPending(computedAt + pace.reportIntervalMs, pendingDeadlines(pace.reportIntervalMs, now))

/** A report that does not open is computed again from the start. */
const load = async (vault: Vault, { tenantNumber, keys }: UnlockedTenant): Promise<IndexReportState> => {
  try {
    return await loadIndexReport(vault.store, tenantNumber, keys)
  } catch (error) {
    if (error instanceof TamperedError) return {}
    throw error
  }
}

/** Figures and progress are stored as one value, so two nodes cannot mix theirs. */
const save = async (
  vault: Vault,
  { tenantNumber, keys }: UnlockedTenant,
  state: IndexReportState,
): Promise<void> => {
  await vault.store.commit({
    tenant: tenantNumber,
    guarded: [],
    effects: [{ kind: 'putReport', name: indexReportName, sealed: sealIndexReport(keys, state) }],
    counters: [{ name: sealsCounter(keys.currentDataVersion), by: 1 }],
    log: null,
  })
}

/** A token that does not open is left for `strongroom doctor --deep` to name. */
const addToken = (survey: IndexSurvey, row: TokenRow, keys: TenantKeys): void => {
  const token = openIfWhole(row, keys)
  if (token !== undefined) survey.add(token)
}
