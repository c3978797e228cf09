import { existsSync } from 'node:fs'
import type { ActKind } from '../domain/acts/act.ts'
import { recordedForOperator } from '../operations/log/acting.ts'
import { type LogsVerdict, type Severity, verifyLogs } from '../operations/log/evidence/verify-logs.ts'
import type { Vault } from '../operations/vault/vault.ts'
import { ExportVerifier } from './export-verifier.ts'

/** Verifies all logs in storage. `find` is told of each thing that is wrong. */
export const verifiedLogs = async (
  vault: Vault,
  {
    kind,
    anchorPaths,
    find,
  }: {
    kind: ActKind
    anchorPaths: readonly string[]
    find: (severity: Severity, what: string) => void
  },
): Promise<LogsVerdict> => {
  const verifier = await ExportVerifier.start(vault.evidence.verifierKey, anchorPaths)
  try {
    return await recordedForOperator(vault, kind, async act => {
      let count = 0
      const verdict = await verifyLogs(vault, {
        anchors: verifier.anchors,
        verifyExport: (lines, anchor) => verifier.verify(lines, anchor),
        find: (severity, what) => {
          count++
          find(severity, what)
        },
      })
      act.says({ count })
      return verdict
    })
  } finally {
    await verifier.close()
  }
}

/** An anchor is made by the first server that has it in its settings. */
export const existing = (paths: readonly string[]): string[] => paths.filter(path => existsSync(path))
