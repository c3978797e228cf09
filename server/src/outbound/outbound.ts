import { limits as vaultLimits } from '../domain/limits.ts'
import { type DestinationUrl, standardPort } from '../domain/outbound/destination-url.ts'
import { addressJudge } from './addresses.ts'
import { type CallLimits, call, type Headers } from './call.ts'
import { type Connecting, type ConnectLimits, connect } from './connect.ts'
import { Connections } from './connections.ts'
import { decodeBody, layerOf } from './decode-body.ts'
import { OutboundError } from './outbound-error.ts'
import type { OutboundSettings } from './outbound-rules.ts'
import { resolver } from './resolver.ts'
import { trusting } from './trust.ts'

/** Who a call is for: calls of different scopes share no connection, and each kind has its own room. */
export type OutboundScope = { readonly kind: 'proxy' | 'webhook'; readonly id: string }

export type OutboundCall = {
  readonly tenant: number
  readonly scope: OutboundScope
  readonly url: DestinationUrl
  readonly method: string
  /** All of them: none is added. */
  readonly headers: Headers
  readonly body: Uint8Array | undefined
  readonly limits: OutboundLimits
  /** Called once there is room for the call. No byte of it leaves before this resolves; the connection is made meanwhile. */
  readonly beforeFirstByte?: () => Promise<void>
  /** Nobody waits for the answer any more. */
  readonly signal?: AbortSignal
}

export type OutboundLimits = CallLimits & ConnectLimits

/** An answer, decoded: its headers name no encoding if it had one. */
export type OutboundAnswer = { readonly status: number; readonly headers: Headers; readonly body: Buffer }

/** The one door through which the vault calls other servers on a tenant's word (U17). */
export type Outbound = {
  /** Sends once. Throws an OutboundError, or what `beforeFirstByte` and `signal` were rejected with. */
  send(call: OutboundCall): Promise<OutboundAnswer>
  /** Calls under way. */
  readonly inFlight: number
  close(): void
}

export const openOutbound = (settings: OutboundSettings): Outbound => {
  // Made when it is needed first: most vaults call nobody, and reading certificates takes a while.
  let connecting: Connecting | undefined
  const whenNeeded = (): Connecting => {
    connecting ??= {
      resolve: resolver(settings.dns),
      judge: addressJudge(settings),
      trusted: trusting(settings.ca),
    }
    return connecting
  }
  const connections = new Connections()
  const room = new CallRoom()
  return {
    get inFlight() {
      return room.calls
    },
    close: () => connections.close(),
    send: async asked => {
      const { tenant, scope, url, limits, body: sentBody } = asked
      if (url.port !== standardPort && !settings.ports.includes(url.port)) throw new OutboundError('address')
      const place = room.enter(`${tenant} ${scope.kind}`, scope.kind, {
        answer: limits.answerBytes,
        body: sentBody?.length ?? 0,
      })
      const ready = asked.beforeFirstByte?.() ?? Promise.resolve()
      // Most calls take a connection that is there.
      let over: AbortController | undefined
      try {
        const { headers, status, body } = await call({
          ...asked,
          agent: connections.of(`${tenant} ${scope.kind} ${scope.id} ${url.origin}`, () => {
            over = new AbortController()
            return connect(whenNeeded(), url, { notHost: settings.ownHost, limits, signal: over.signal })
          }),
          beforeFirstByte: ready,
          signal: asked.signal,
          mayHoldMore: () => place.hold(limits.wireBytes),
        })
        const layer = layerOf(headerOf(headers, 'content-encoding'))
        if (layer === undefined || layer === 'none' || body.length === 0) return { headers, status, body }
        return {
          headers: headers.filter(([name]) => name.toLowerCase() !== 'content-encoding'),
          status,
          body: await decodeBody(body, layer, { bytesMax: limits.answerBytes, status }),
        }
      } catch (error) {
        // The record that was begun is there before anybody is told of the failure, or is the failure.
        await ready
        throw error
      } finally {
        // A connection that is still being made goes too: who leaves at once must not have more of them than calls.
        over?.abort(new OutboundError('connect'))
        place.leave()
      }
    },
  }
}

const headerOf = (headers: Headers, wanted: string): string | undefined =>
  headers
    .filter(([name]) => name.toLowerCase() === wanted)
    .map(([, value]) => value)
    .join(', ') || undefined

/** How many calls are under way, and what they and their answers may take of memory: by tenant, and for each kind in all (U16). */
class CallRoom {
  readonly #calls = new Map<string, number>()
  readonly #bytes = new Map<string, number>()
  readonly #bodies = new Map<string, number>()
  calls = 0

  /** Throws `busy` if there is no room. */
  enter(
    tenant: string,
    kind: string,
    bytes: { readonly answer: number; readonly body: number },
  ): { hold(bytes: number): boolean; leave(): void } {
    const { callsPerTenant, callsPerProcess, callBytesPerProcess } = vaultLimits
    const ofTenant = this.#calls.get(tenant) ?? 0
    const ofKind = this.#calls.get(kind) ?? 0
    const mayHold = (more: number): boolean => (this.#bytes.get(kind) ?? 0) + more <= callBytesPerProcess
    const bodies = (this.#bodies.get(kind) ?? 0) + bytes.body
    if (ofTenant >= callsPerTenant || ofKind >= callsPerProcess || !mayHold(bytes.answer))
      throw new OutboundError('busy')
    if (bodies > callBytesPerProcess) throw new OutboundError('busy')
    let held = 0
    const take = (more: number): void => {
      held += more
      this.#add(this.#bytes, kind, more)
    }
    const count = (by: 1 | -1): void => {
      this.calls += by
      this.#add(this.#calls, tenant, by)
      this.#add(this.#calls, kind, by)
    }
    count(1)
    take(bytes.answer)
    this.#add(this.#bodies, kind, bytes.body)
    return {
      hold: wanted => {
        if (!mayHold(wanted - held)) return false
        take(wanted - held)
        return true
      },
      leave: () => {
        count(-1)
        take(-held)
        this.#add(this.#bodies, kind, -bytes.body)
      },
    }
  }

  #add(counts: Map<string, number>, name: string, by: number): void {
    const now = (counts.get(name) ?? 0) + by
    if (now === 0) counts.delete(name)
    else counts.set(name, now)
  }
}
