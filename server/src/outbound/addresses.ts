import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { standardPort } from '../domain/outbound/destination-url.ts'
import type { OutboundRules } from './outbound-rules.ts'

/** IPv4 that no public server has (U17): private, shared, local, reserved, for documentation, for clouds' own services. */
const privateIpv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
]
/** The only IPv6 addresses that are given out, and what of them leads elsewhere: tunnels to IPv4, documentation. */
const givenOutIpv6 = ['2000::/3']
const privateIpv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20']

const listOf = (networks: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return list
}

const notPublic = listOf([...privateIpv4, ...privateIpv6])
const givenOut = listOf(givenOutIpv6)

/** A zone says on which of this machine's networks an address is, so it is never public. */
export const isPublic = (address: string): boolean => {
  const family = isIP(address)
  if (family === 4) return !notPublic.check(address, 'ipv4')
  return family === 6 && !address.includes('%') && isIn(givenOut, address) && !isIn(notPublic, address)
}

const isIn = (list: BlockList, address: string): boolean =>
  list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** Whether an address may be called: because the operator allows it, because it is public, or not at all. */
export type Verdict = 'allowed' | 'public' | undefined

export type JudgeAddress = (address: string, port: number) => Verdict

export const addressJudge = ({ allow, deny, ports }: OutboundRules): JudgeAddress => {
  const denied = listOf(deny)
  const allowed = listOf(allow.filter(({ port }) => port === undefined).map(({ network }) => network))
  const byPort = Map.groupBy(
    allow.filter(({ port }) => port !== undefined),
    ({ port }) => port,
  )
  const allowedOn = new Map(
    [...byPort].map(([port, networks]) => [port, listOf(networks.map(({ network }) => network))]),
  )
  return (address, port) => {
    if (isIP(address) === 0 || address.includes('%')) return undefined
    if (port !== standardPort && !ports.includes(port)) return undefined
    if (isIn(denied, address)) return undefined
    const onPort = allowedOn.get(port)
    if (isIn(allowed, address) || (onPort !== undefined && isIn(onPort, address))) return 'allowed'
    return isPublic(address) && !ownAddresses().has(address) ? 'public' : undefined
  }
}

/** Asking the system for the addresses of this machine takes too long to do it for each call. */
const ownAddressesMs = 5_000
let own: { readonly addresses: ReadonlySet<string>; readonly at: number } | undefined

const ownAddresses = (): ReadonlySet<string> => {
  const now = performance.now()
  if (own === undefined || now - own.at > ownAddressesMs)
    own = {
      at: now,
      addresses: new Set(
        Object.values(networkInterfaces()).flatMap(all => (all ?? []).map(({ address }) => address)),
      ),
    }
  return own.addresses
}
