import { resolve } from 'node:path'
import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/config-error.ts'
import { counted, printable } from '../../domain/text/terminal.ts'
import { acceptRollback } from '../../operations/log/evidence/accept-rollback.ts'
import { type Severity, severities } from '../../operations/log/evidence/verify-logs.ts'
import type { Invocation, Run } from '../command.ts'
import { asCalled, pasteable } from '../pasteable.ts'
import { print, printNote, printText } from '../print.ts'
import { withVault } from '../storage/with-vault.ts'
import { existing, verifiedLogs } from '../verified-logs.ts'

/** L6: exits with 0 if all is good, or with the code of the worst finding, as the verifier of exports does. */
export const logsVerify: Run = invocation =>
  withVault(invocation.config, async vault => {
    const { config, flags } = invocation
    const findings: { severity: Severity; problem: string }[] = []
    const { logs, checkpoint } = await verifiedLogs(vault, {
      kind: { operation: 'logs verify', entityType: 'log' },
      anchorPaths: anchorsOf(invocation, config),
      find: (severity, problem) => void findings.push({ severity, problem: printable(problem) }),
    })
    const key = vault.evidence.verifierKey
    print(
      flags.json,
      { key, logs, checkpoint, findings },
      [
        ...findings.map(({ severity, problem }) => pasteable(`${severity}: ${problem}`)),
        ...(findings.length === 0
          ? [`good: ${counted(logs, 'log')}, complete at checkpoint ${checkpoint}`]
          : []),
        `public key: ${key}`,
      ].join('\n'),
    )
    return Math.max(0, ...findings.map(({ severity }) => severities[severity]))
  })

/** An anchor in the settings may not have been made yet; one that is named must be there. */
const anchorsOf = ({ options: { anchor } }: Invocation, { auditAnchors }: Config): readonly string[] => {
  if (anchor === undefined) return existing(auditAnchors)
  const path = anchor.replace(/^file:(?:\/\/)?(?=\/)/, '')
  if (path === '') throw new ConfigError('--anchor is empty; without it, the setting audit-anchors is used')
  if (existing([path]).length === 0) throw new ConfigError(`there is no anchor ${path}`)
  return [resolve(path)]
}

export const logsAcceptRollback: Run = ({ config, words: [size = ''] }) =>
  withVault(config, async vault => {
    if (!/^(0|[1-9]\d{0,14})$/.test(size))
      throw new ConfigError("<size> is that of storage's newest checkpoint, as the refusal of serve names it")
    const { size: begun } = await acceptRollback(vault, Number(size))
    const { state } = vault.anchoring
    printText(
      asCalled(
        `a new epoch began at checkpoint ${size}, and storage is at ${begun}: what was signed beyond that before is given up`,
      ),
    )
    if (state === 'failing' || state === 'stopped')
      printNote('logs accept-rollback', 'the checkpoint did not reach all anchors; a server tries again')
    return 0
  })
