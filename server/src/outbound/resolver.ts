import { promises } from 'node:dns'
import { OutboundError } from './outbound-error.ts'

/** An address that a name resolved to. */
export type ResolvedAddress = { readonly address: string; readonly family: 4 | 6 }

export type Resolve = (host: string, timeoutMs: number) => Promise<readonly ResolvedAddress[]>

/** Addresses of one name that are looked at. A name with more is refused rather than looked at in part. */
const addressesMax = 64

/**
 * Asks DNS for all addresses of a name. `dns.lookup` is never used: it reads the machine's own files, and names that hang fill the
 * thread pool, which reads and seals wait for.
 */
export const resolver = (servers: readonly string[]): Resolve => {
  const dns = new promises.Resolver({ timeout: 1_000, tries: 3 })
  if (servers.length > 0) dns.setServers(servers)
  return async (host, timeoutMs) => {
    const found: ResolvedAddress[] = []
    const ask = async (addresses: Promise<readonly string[]>, family: 4 | 6): Promise<void> => {
      for (const address of await addresses) found.push({ address, family })
    }
    const asked = Promise.allSettled([ask(dns.resolve4(host), 4), ask(dns.resolve6(host), 6)])
    // A name may have addresses of one kind only, and servers that are silent about the other.
    await withinTime(asked, timeoutMs)
    if (found.length === 0 || found.length > addressesMax) throw new OutboundError('dns')
    return [...found]
  }
}

const withinTime = async (done: Promise<unknown>, timeoutMs: number): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const timeUp = new Promise<void>(resolve => {
    timer = setTimeout(resolve, timeoutMs)
  })
  await Promise.race([done, timeUp])
  clearTimeout(timer)
}
