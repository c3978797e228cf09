import { openReport, sealReport } from '../../crypto/data-seal.ts'
import type { TenantKeys } from '../../crypto/keys.ts'
import type { IndexReport, ReportPass } from '../../domain/index-report/index-report.ts'
import type { Store } from '../../store/port.ts'

/** The newest report, and the pass in progress towards the next one. */
export type IndexReportState = { readonly report?: IndexReport; readonly pass?: ReportPass }

export const indexReportName = 'indexes'

export const loadIndexReport = async (
  store: Store,
  tenantNumber: number,
  keys: TenantKeys,
): Promise<IndexReportState> => {
  const sealed = await store.getReport(tenantNumber, indexReportName)
  return sealed === undefined ? {} : JSON.parse(openReport(keys, indexReportName, sealed).toString('utf8'))
}

export const sealIndexReport = (keys: TenantKeys, state: IndexReportState): Buffer =>
  sealReport(keys, indexReportName, JSON.stringify(state))
