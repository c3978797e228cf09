import { X509Certificate } from 'node:crypto'

/** OpenSSL takes as many certificates as it can read, even none. */
export const holdsCertificates = (pem: string): boolean => {
  const found = pem.match(/-----BEGIN [^-]*CERTIFICATE-----[^-]*-----END [^-]*-----/g) ?? []
  try {
    return found.map(text => new X509Certificate(text)).length > 0
  } catch {
    return false
  }
}
