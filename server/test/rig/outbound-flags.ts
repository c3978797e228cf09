import type { OutboundSettings } from '../../src/outbound/outbound-rules.ts'

/** The flags with which a server calls others by these settings. The authority is in a file. */
export const outboundFlags = (
  { allow, ports, dns }: Pick<OutboundSettings, 'allow' | 'ports' | 'dns'>,
  caFile: string,
): readonly string[] => [
  ...listed(
    '--outbound-allow',
    allow.map(({ network, port }) => (port ? `${network}:${port}` : network)),
  ),
  ...listed('--outbound-ports', ports),
  ...listed('--outbound-dns', dns),
  ...['--outbound-ca', caFile],
]

const listed = (flag: string, values: readonly (string | number)[]): readonly string[] =>
  values.length === 0 ? [] : [flag, values.join()]
