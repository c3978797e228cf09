import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls'
import type { DestinationUrl } from '../domain/outbound/destination-url.ts'
import type { JudgeAddress } from './addresses.ts'
import { OutboundError, type OutboundFailure } from './outbound-error.ts'
import type { Resolve, ResolvedAddress } from './resolver.ts'

export type Connecting = {
  readonly resolve: Resolve
  readonly judge: JudgeAddress
  readonly trusted: SecureContext
}

export type ConnectLimits = {
  readonly dnsMs: number
  /** For the connection and its TLS handshake together. */
  readonly connectMs: number
}

/**
 * Connects to a destination: resolves its name once, requires every address to be one that may be called, connects to one of these
 * and no other, and says nothing on the connection before it has seen whom it reached (U17).
 */
export const connect = async (
  { resolve, judge, trusted }: Connecting,
  { host, port }: Pick<DestinationUrl, 'host' | 'port'>,
  { notHost, limits, signal }: { notHost: string | undefined; limits: ConnectLimits; signal: AbortSignal },
): Promise<TLSSocket> => {
  const addresses = await resolve(host, limits.dnsMs)
  signal.throwIfAborted()
  const verdicts = addresses.map(({ address }) => judge(address, port))
  if (verdicts.includes(undefined)) throw new OutboundError('address')
  // Our own name is ours wherever it leads, unless the operator allows that place.
  if (host === notHost && verdicts.includes('public')) throw new OutboundError('address')
  const timer = new AbortController()
  const within = AbortSignal.any([signal, timer.signal])
  const timeout = setTimeout(() => timer.abort(new OutboundError('timeout')), limits.connectMs)
  try {
    const socket = await tcpConnection(host, port, addresses, within)
    const reached = socket.remoteAddress ?? ''
    if (!addresses.some(({ address }) => address === reached) || judge(reached, port) === undefined) {
      socket.destroy()
      throw new OutboundError('address')
    }
    return await tlsConnection(socket, host, trusted, within)
  } finally {
    clearTimeout(timeout)
  }
}

const tcpConnection = async (
  host: string,
  port: number,
  addresses: readonly ResolvedAddress[],
  signal: AbortSignal,
): Promise<Socket> => {
  const socket = connectTcp({
    host,
    port,
    noDelay: true,
    // Only what was checked: no name is looked up again.
    lookup: (_host, { all }, found) => {
      const [first] = addresses
      if (all === true) found(null, [...addresses])
      else if (first !== undefined) found(null, first.address, first.family)
    },
  })
  await settled(socket, 'connect', 'connect', signal)
  return socket
}

const tlsConnection = async (
  socket: Socket,
  host: string,
  secureContext: SecureContext,
  signal: AbortSignal,
): Promise<TLSSocket> => {
  const secure = connectTls({
    socket,
    servername: host,
    secureContext,
    // Said here, because a variable of the environment can change what Node does otherwise.
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
  })
  await settled(secure, 'secureConnect', 'tls', signal)
  return secure
}

/** Resolves when the socket says so, and destroys it if it fails or if time is up. */
const settled = (
  socket: Socket,
  event: 'connect' | 'secureConnect',
  failure: OutboundFailure,
  signal: AbortSignal,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const over = (error?: unknown): void => {
      socket.off(event, done).off('error', failed).off('close', failed)
      signal.removeEventListener('abort', aborted)
      if (error === undefined) resolve()
      else {
        // What fails later has nobody left to be told.
        socket.on('error', () => {})
        socket.destroy()
        reject(error)
      }
    }
    const done = (): void => over()
    const failed = (): void => over(new OutboundError(failure))
    const aborted = (): void => over(signal.reason)
    socket.on(event, done).on('error', failed).on('close', failed)
    signal.addEventListener('abort', aborted)
    if (signal.aborted) aborted()
  })
