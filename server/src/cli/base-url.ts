import type { Config } from '../config/config.ts'

/** Where clients find a server with these settings that listens on this port. */
export const baseUrl = ({ host, tls }: Config, port: number): string =>
  `${tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`
