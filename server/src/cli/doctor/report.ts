import type { Finding, Repair } from './finding.ts'

/** What doctor has found so far. Whoever examines something adds to it, so that it is told even if what comes after fails. */
export class Report {
  readonly findings: Finding[] = []
  readonly repairs: Repair[] = []
  /** What is no problem, or none yet. */
  readonly notes: string[] = []

  get isBlocked(): boolean {
    return this.findings.some(({ blocks }) => blocks)
  }
}
