import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { BlockList, isIP } from 'node:net'
import { createSecureContext, type TlsOptions } from 'node:tls'
import type { Config } from '../config/config.ts'
import { ConfigError, unreadable } from '../config/config-error.ts'
import type { ProcessLog } from './log.ts'

/** The certificates, once they are known to work: a server must not find out from its first client. */
export const readTlsFiles = ({ tls: files }: Config): TlsOptions | undefined => {
  if (files === undefined) return undefined
  const cert = read(files.cert)
  const key = read(files.key)
  const clientCa = files.clientCa === undefined ? undefined : read(files.clientCa)
  if (!belongTogether(cert, key))
    throw new ConfigError(
      `the TLS files ${files.cert}, ${files.key} do not hold a certificate and its key (PEM)`,
    )
  if (clientCa !== undefined && !holdsCertificates(clientCa))
    throw new ConfigError(`the TLS file ${files.clientCa} does not hold certificates (PEM)`)
  return {
    cert,
    key,
    minVersion: 'TLSv1.2',
    ...(clientCa !== undefined && { ca: clientCa, requestCert: true, rejectUnauthorized: true }),
  }
}

/** OpenSSL itself compares only keys of one kind: it accepts the certificate of an RSA key beside an EC key. */
const belongTogether = (cert: Buffer, key: Buffer): boolean => {
  try {
    createSecureContext({ cert, key })
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
  } catch {
    return false
  }
}

/** OpenSSL takes as many certificates as it can read, even none. */
const holdsCertificates = (pem: Buffer): boolean => {
  const found =
    pem.toString('latin1').match(/-----BEGIN [^-]*CERTIFICATE-----[^-]*-----END [^-]*-----/g) ?? []
  try {
    return found.map(text => new X509Certificate(text)).length > 0
  } catch {
    return false
  }
}

const read = (path: string): Buffer => {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new ConfigError(`the TLS file ${path} ${unreadable(error)}`)
  }
}

/** Warns once, when the server listens. An operator who terminates TLS in front of it can ignore this. */
export const warnOfPlaintext = ({ host, tls }: Config, log: ProcessLog): void => {
  if (tls !== undefined || isLoopback(host)) return
  log.warn(
    { host },
    'keys and data cross the network in plain text: set --tls-cert and --tls-key, unless a proxy in front of it does TLS',
  )
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
loopback.addAddress('::1', 'ipv6')

const isLoopback = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && loopback.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4'))
