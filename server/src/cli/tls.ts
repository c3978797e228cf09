import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext, type TlsOptions } from 'node:tls'
import type { Config } from '../config/config.ts'
import { ConfigError, unreadable } from '../config/config-error.ts'
import { readNamedFile } from '../config/named-file.ts'

/** Returns the certificates when they are known to work. A server must not learn of a fault from its first client. */
export const readTlsFiles = ({ tls: files }: Config): (TlsOptions & { cert: Buffer }) | undefined => {
  if (files === undefined) return undefined
  const cert = read(files.cert)
  const key = read(files.key)
  const clientCa = files.clientCa === undefined ? undefined : read(files.clientCa)
  if (hasPassphrase(key))
    throw new ConfigError(
      `the TLS key ${files.key} is protected by a passphrase, which is not supported: give a key without one`,
    )
  if (!belongTogether(cert, key))
    throw new ConfigError(
      `the TLS files ${files.cert}, ${files.key} do not hold a certificate and its key (PEM)`,
    )
  if (clientCa !== undefined && !holdsCertificates(clientCa.toString('latin1')))
    throw new ConfigError(`the TLS file ${files.clientCa} does not hold certificates (PEM)`)
  return {
    cert,
    key,
    minVersion: 'TLSv1.2',
    ...(clientCa !== undefined && { ca: clientCa, requestCert: true, rejectUnauthorized: true }),
  }
}

/** Authorities whose certificates destinations may have, if any are named. */
export const readOutboundCa = ({ outbound: { caFile } }: Pick<Config, 'outbound'>): string | undefined => {
  if (caFile === undefined) return undefined
  const pem = readNamedFile(caFile)
  if (!holdsCertificates(pem)) throw new ConfigError(`the file ${caFile} does not hold certificates (PEM)`)
  return pem
}

/** In the current form and in that of older tools. OpenSSL only says that it was interrupted. */
const hasPassphrase = (key: Buffer): boolean =>
  /^(-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED)/m.test(key.toString('latin1'))

/** OpenSSL compares only keys of one kind. It accepts the certificate of an RSA key with an EC key. */
const belongTogether = (cert: Buffer, key: Buffer): boolean => {
  try {
    createSecureContext({ cert, key })
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
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

/** Like `readTlsFiles`, but undefined for files that do not work. */
export const usableTlsFiles = (config: Config): ReturnType<typeof readTlsFiles> => {
  try {
    return readTlsFiles(config)
  } catch {
    return undefined
  }
}

/** The validity period of the server's own certificate, the first of its file. */
export const certificateDates = (cert: Buffer): { from: Date; until: Date } => {
  const { validFromDate, validToDate } = new X509Certificate(cert)
  return { from: validFromDate, until: validToDate }
}

/** Why clients refuse the certificate now, worded to follow its name. Undefined if its dates are fine. */
export const outOfDate = (cert: Buffer, now: number): string | undefined => {
  const { from, until } = certificateDates(cert)
  if (now > until.getTime()) return `expired on ${until.toISOString()}`
  return now < from.getTime() ? `is not valid until ${from.toISOString()}` : undefined
}

/** OpenSSL accepts as many certificates as it can read, even none. */
export const holdsCertificates = (pem: string): boolean => {
  const found = pem.match(/-----BEGIN [^-]*CERTIFICATE-----[^-]*-----END [^-]*-----/g) ?? []
  try {
    return found.map(text => new X509Certificate(text)).length > 0
  } catch {
    return false
  }
}
