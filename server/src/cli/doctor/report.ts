import type { Finding, Repair } from './finding.ts'

/** What doctor has found so far. Each check adds to it, so findings are reported even if a later check fails. */
export class Report {
  /** Of the log, once a vault could be opened. */
  verifierKey: string | undefined
  readonly findings: Finding[] = []
  readonly repairs: Repair[] = []
  /** Notes about what is not a problem, or not yet. */
  readonly notes: string[] = []

  get isBlocked(): boolean {
    return this.findings.some(({ blocks }) => blocks)
  }
}
