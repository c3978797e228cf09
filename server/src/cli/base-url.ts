import type { Config } from '../config/config.ts'

/** The address at which clients reach a server with these settings on this port. */
export const baseUrl = ({ host, tls }: Config, port: number): string =>
  `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`
