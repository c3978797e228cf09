import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'

/** Trusts the authorities that Node trusts, and those of a PEM file besides. */
export const trusting = (ca: string | undefined): SecureContext =>
  createSecureContext({
    minVersion: 'TLSv1.2',
    ...(ca !== undefined && { ca: [...getCACertificates('default'), ca] }),
  })
