import { BlockList, isIP, SocketAddress } from 'node:net'
import type { Exchange } from './exchange.ts'

/** The address that a record shows for a request (L2). */
export type SourceOf = (exchange: Pick<Exchange, 'headers' | 'remoteAddress'>) => string

/**
 * Where a request comes from. Only proxies that the operator trusts are believed about that: each adds the address it was called from
 * at the end of X-Forwarded-For, so the last one there that is not such a proxy's called the first of them. What stands before it
 * anybody may have written.
 */
export const sourceOf = (trustedProxies: readonly string[]): SourceOf => {
  if (trustedProxies.length === 0) return ({ remoteAddress }) => plainAddress(remoteAddress)
  const trusted = new BlockList()
  for (const proxy of trustedProxies) {
    const [address = '', prefix] = proxy.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    trusted.addSubnet(address, prefix === undefined ? (family === 'ipv6' ? 128 : 32) : Number(prefix), family)
  }
  const isTrusted = (address: string): boolean => {
    const version = isIP(address)
    return version !== 0 && trusted.check(address, version === 6 ? 'ipv6' : 'ipv4')
  }
  return ({ remoteAddress, headers }) => {
    let source = plainAddress(remoteAddress)
    const forwarded = [headers['x-forwarded-for'] ?? ''].flat().join(',').split(',')
    while (isTrusted(source)) {
      const before = forwardedAddress(forwarded.pop() ?? '')
      // Whatever else stands there is not recorded: it may be anything.
      if (before === undefined) break
      source = before
    }
    return source
  }
}

const mapped = '::ffff:'

/** A socket that takes both kinds shows an IPv4 address as a part of IPv6. */
const plainAddress = (address: string): string =>
  address.startsWith(mapped) && isIP(address.slice(mapped.length)) === 4
    ? address.slice(mapped.length)
    : address

/** Some proxies add the port. Undefined for anything but an address. */
const forwardedAddress = (text: string): string | undefined => {
  const [, bracketed, withPort] = /^\s*(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)\s*$/.exec(text) ?? []
  const address = bracketed ?? withPort ?? text.trim()
  const version = isIP(address)
  if (version === 0 || address.includes('%')) return undefined
  if (version === 4) return address
  return plainAddress(new SocketAddress({ address, family: 'ipv6' }).address)
}
