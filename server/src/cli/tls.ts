import { readFileSync } from 'node:fs'
import { createSecureContext, type TlsOptions } from 'node:tls'
import { type Config, ConfigError } from '../config.ts'

/** The certificates, once they are known to work: a server must not find out with its first client. */
export const readTlsFiles = ({ tls: files }: Config): TlsOptions | undefined => {
  if (files === undefined) return undefined
  const options: TlsOptions = {
    cert: read(files.cert),
    key: read(files.key),
    minVersion: 'TLSv1.2',
    ...(files.clientCa !== undefined && {
      ca: read(files.clientCa),
      requestCert: true,
      rejectUnauthorized: true,
    }),
  }
  try {
    createSecureContext(options)
  } catch {
    throw new ConfigError(
      `the TLS files ${Object.values(files).filter(Boolean).join(', ')} do not hold a certificate and its key (PEM)`,
    )
  }
  return options
}

const read = (path: string): Buffer => {
  try {
    return readFileSync(path)
  } catch {
    throw new ConfigError(`the TLS file ${path} cannot be read`)
  }
}
