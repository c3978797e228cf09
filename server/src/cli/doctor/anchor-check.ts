import type { Config } from '../../config/config.ts'
import { shellWord } from '../../domain/text/terminal.ts'
import { NotAnchoredError } from '../../operations/log/evidence/evidence.ts'
import { withVault } from '../storage/with-vault.ts'
import { vaultFlags } from '../vault-flags.ts'
import type { Finding, Remedy } from './finding.ts'
import type { Report } from './report.ts'

/** Tells the key that verifies the log, and finds what `serve` would refuse: storage that lacks what its anchors hold (L4). */
export const examineAnchors = (config: Config, report: Report): Promise<void> =>
  withVault(config, async ({ evidence, anchoring }) => {
    const { findings } = report
    report.verifierKey = evidence.verifierKey
    try {
      await anchoring.requireOurs()
      if (anchoring.state === 'failing')
        findings.push(finding('an anchor of the log cannot be read', { byHand }))
    } catch (error) {
      if (!(error instanceof NotAnchoredError)) throw error
      findings.push(finding(error.problem, remedyOf(config, error)))
    }
  })

const finding = (problem: string, remedy: Remedy): Finding => ({
  check: 'anchors',
  problem,
  ...remedy,
  blocks: false,
})

const byHand = 'see whether audit-anchors names the files that you mean, and whether their disks are there'

const remedyOf = (config: Config, { remedy, acceptableAt }: NotAnchoredError): Remedy => {
  if (acceptableAt === undefined) return { byHand: remedy }
  const anchors = config.auditAnchors.map(path => `file:${path}`).join()
  return {
    first: 'find out who brought back an older storage, and where what it lacks may still be',
    command: `strongroom logs accept-rollback ${vaultFlags(config)} --audit-anchors ${shellWord(anchors)} ${acceptableAt}`,
  }
}
