import { statSync } from 'node:fs'
import { ConfigError } from '../../config/config-error.ts'
import type { TlsFiles } from '../../config/tls-files.ts'
import { shellWord } from '../../domain/text/terminal.ts'
import { dayMs } from '../../domain/time/instant.ts'
import { certificateDates, outOfDate, readTlsFiles, usableTlsFiles } from '../tls.ts'
import type { Check, Context, Finding, Remedy } from './finding.ts'

const soonMs = 14 * dayMs

/** Checks for TLS files that `serve` would not start with, that no client would accept, or that others could use. */
export const tlsFiles: Check = ({ config, machine }) => {
  const finding = (problem: string, remedy: Remedy): Finding => ({
    check: 'tls',
    problem,
    ...remedy,
    blocks: false,
  })
  const { tls } = config
  if (tls === undefined) return []
  let fault: string | undefined
  try {
    const read = readTlsFiles(config)
    fault = read && outOfDate(read.cert, machine.now())
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [
      finding(error.message, {
        byHand: 'correct the files, or --tls-cert, --tls-key and --tls-client-ca, which name them',
      }),
    ]
  }
  return [
    ...(fault === undefined
      ? []
      : [
          finding(`the TLS certificate ${tls.cert} ${fault}`, {
            byHand:
              'put a valid one in its place, with its key, and send SIGHUP to the server; if it is valid, this clock is wrong',
          }),
        ]),
    ...(isOpen(tls) ? [finding(`${tls.key} is open to others`, closing(tls))] : []),
  ]
}

/** What is not a problem yet. */
export const tlsNotes = ({ config, machine }: Context): string[] => {
  const tls = usableTlsFiles(config)
  if (tls === undefined) return []
  const { until } = certificateDates(tls.cert)
  const leftMs = until.getTime() - machine.now()
  return leftMs >= 0 && leftMs <= soonMs
    ? [`the TLS certificate ${config.tls?.cert} expires on ${until.toISOString()}`]
    : []
}

/** A group may read the key: that is how it is shared with the service that needs it. */
const isOpen = ({ key }: TlsFiles): boolean => (statSync(key).mode & 0o027) !== 0

/**
 * If its owner closes the file to others, it stays open to its group. Another user who can read it now may be able to do so only
 * as one of the others.
 */
const closing = ({ key }: TlsFiles): Remedy => {
  const me = process.geteuid?.()
  if (me === 0 || me === statSync(key).uid) return { command: `chmod g-w,o= ${shellWord(key)}` }
  return {
    byHand: `give it to the user that serves the vault, as root: chown ${me} ${shellWord(key)} && chmod 600 ${shellWord(key)}`,
  }
}
