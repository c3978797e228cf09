import type { OutboundSettings } from '../../src/outbound/outbound-rules.ts'

/** The flags with which a server calls others by these settings. The authority is in a file. */
export const outboundFlags = (
  { allow, ports, dns }: Pick<OutboundSettings, 'allow' | 'ports' | 'dns'>,
  caFile: string,
): readonly string[] => [
  ...['--outbound-allow', allow.map(({ network, port }) => (port ? `${network}:${port}` : network)).join()],
  ...['--outbound-ports', ports.join()],
  ...['--outbound-dns', dns.join()],
  ...['--outbound-ca', caFile],
]
