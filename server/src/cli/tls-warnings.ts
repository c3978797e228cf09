import { BlockList, isIP } from 'node:net'
import type { Config } from '../config/config.ts'
import type { ProcessLog } from './log.ts'
import { outOfDate, usableTlsFiles } from './tls.ts'

/** Warns once, before the server says that it listens. With several processes, the primary warns. */
export const warnOfTls = (config: Config, log: ProcessLog): void => {
  if (config.tls === undefined) warnOfPlaintext(config, log)
  else warnOfDatesInFiles(config, log)
}

/** An operator who terminates TLS in front of the server can ignore this. */
const warnOfPlaintext = ({ host }: Config, log: ProcessLog): void => {
  if (isLoopback(host)) return
  log.warn(
    { host },
    'keys and data cross the network in plain text: set --tls-cert and --tls-key, unless a proxy in front of it does TLS',
  )
}

/** The server still serves: clients that do not verify the certificate get answers, and SIGHUP loads the next one. */
export const warnOfDates = (cert: Buffer, log: ProcessLog): void => {
  const reason = outOfDate(cert, Date.now())
  if (reason !== undefined)
    log.warn({ reason }, 'the TLS certificate is out of date: replace it, and send SIGHUP')
}

/** About the files as they are now. Unusable certificates are not served, and the code that would serve them reports them. */
export const warnOfDatesInFiles = (config: Config, log: ProcessLog): void => {
  const tls = usableTlsFiles(config)
  if (tls !== undefined) warnOfDates(tls.cert, log)
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
loopback.addAddress('::1', 'ipv6')

const isLoopback = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && loopback.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4'))
