import { ConfigError } from './config-error.ts'

export type TlsFiles = { readonly cert: string; readonly key: string; readonly clientCa: string | undefined }

export const readTls = (
  cert: string | undefined,
  key: string | undefined,
  clientCa: string | undefined,
): TlsFiles | undefined => {
  if (cert === undefined && key === undefined && clientCa === undefined) return undefined
  if (cert === undefined)
    throw new ConfigError('TLS has no certificate: set --tls-cert or STRONGROOM_TLS_CERT as well')
  if (key === undefined)
    throw new ConfigError('TLS has no private key: set --tls-key or STRONGROOM_TLS_KEY as well')
  return { cert, key, clientCa }
}
