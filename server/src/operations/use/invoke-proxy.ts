import type { TenantKeys } from '../../crypto/keys.ts'
import { decideUse, mayUseSome } from '../../domain/access/use.ts'
import type { Act, ActKind, ActResult } from '../../domain/acts/act.ts'
import { type ErrorCode, statusOf, VaultError } from '../../domain/errors.ts'
import { limits } from '../../domain/limits.ts'
import {
  type DestinationUrl,
  joinDestination,
  readDestinationUrl,
  standardPort,
} from '../../domain/outbound/destination-url.ts'
import type { OutboundProxy } from '../../domain/proxies/proxy.ts'
import { EchoGuard, guardedValues } from '../../domain/proxying/echo-guard.ts'
import {
  completeHeaders,
  type HeaderPair,
  hasOwnVia,
  headersToReturn,
  headersToSend,
  valueOfHeader,
} from '../../domain/proxying/sent-headers.ts'
import type { Token } from '../../domain/tokens/token.ts'
import type { OutboundAnswer, OutboundLimits } from '../../outbound/outbound.ts'
import { OutboundError, type OutboundFailure } from '../../outbound/outbound-error.ts'
import type { Caller, Vault } from '../vault/vault.ts'
import { applyResponseTransforms, ResponseTransformFault } from './apply-response-transforms.ts'
import { renderRequest } from './render-request.ts'
import { RenderingFault } from './rendering-fault.ts'

/** A request to the proxy as it came. */
export type ProxyRequest = {
  readonly method: string
  /** The proxy that its key names; without one, the request names its destination itself. */
  readonly proxy: OutboundProxy | undefined
  readonly url: string | undefined
  /** What follows `/proxy`, raw: empty, or with its slash. */
  readonly suffix: string
  readonly query: string | undefined
  readonly headers: readonly HeaderPair[]
  readonly body: Buffer | undefined
  readonly headerPrefix: string
  /** Texts of keys, which go nowhere. */
  readonly secrets: readonly string[]
  /** Gives back the memory that the request's body was charged, and keeps so many bytes. */
  readonly releaseBody: (keeping: number) => void
  /** Aborted when the caller has left. */
  readonly signal: AbortSignal
}

export type ProxyAnswer = {
  readonly status: number
  readonly headers: readonly HeaderPair[]
  readonly body: Buffer
  /** The record that was durable before anything was sent. */
  readonly receipt: string
}

/** The proxy's own error, once the destination has answered: its status is told all the same (U13). */
export class AnsweredError extends VaultError {
  readonly destinationStatus: number

  constructor(code: ErrorCode, destinationStatus: number) {
    super(code, { members: { sent: true } })
    this.destinationStatus = destinationStatus
  }
}

/**
 * Sends a request on with the values of tokens in place of its expressions, so that the caller never holds them. Everything is fetched,
 * checked and rendered first, and only then a connection is opened (U12). No byte leaves before its record is durable (U20).
 */
export const invokeProxy = async (
  vault: Vault,
  caller: Caller,
  asked: ProxyRequest,
): Promise<ProxyAnswer> => {
  const url = destinationOf(vault, caller, asked)
  const heldBefore = caller.memory?.held ?? 0
  const rendered = await render(vault, caller, asked, url)
  // The tokens stay until their values have been looked for in the answer.
  const ofTokens = (caller.memory?.held ?? 0) - heldBefore
  const call = new RecordedCall(vault, caller, asked, url)
  let answer: OutboundAnswer
  try {
    answer = await call.send(rendered, ofTokens)
  } catch (error) {
    const refusal = asRefusal(error)
    call.ends(statusOf(refusal instanceof VaultError ? refusal.code : 'internal'), 'failed')
    throw refusal
  }
  call.ends(answer.status, 'allowed')
  await caller.work.turn()
  try {
    return await oneByOne(caller, answer.body.length, async () => {
      const shown = await changed(vault, call.finishing, asked, answer)
      const headers = headersToReturn(answer.headers, asked)
      const guard = await guardFor(caller, asked, rendered)
      await maskAll(guard, shown, caller)
      const receipt = call.receipt
      const values = guard.maskHeaders(headers.map(([, value]) => value))
      return {
        status: answer.status,
        headers: headers.map(([name], at): HeaderPair => [name, values[at] ?? '']),
        body: shown,
        receipt,
      }
    })
  } catch (error) {
    call.ends(statusOf('responseTransformFailed'), 'failed')
    throw error
  } finally {
    call.finish()
  }
}

/** A proxy is kept in memory while it is used, and its URL need not be read for each request. */
const destinations = new WeakMap<OutboundProxy, ReturnType<typeof readDestinationUrl>>()

/** Where the request goes, if it may go there. */
const destinationOf = (vault: Vault, caller: Caller, asked: ProxyRequest): DestinationUrl => {
  const { proxy, url, suffix, query, method } = asked
  if (!mayUseSome(caller.application)) throw new VaultError('permissionDenied')
  const text = proxy?.destinationUrl ?? url
  if (text === undefined) throw new VaultError('noDestination')
  if (proxy === undefined && caller.tenant.settings.ephemeralProxy !== true)
    throw new VaultError('ephemeralProxyDisabled')
  if (proxy?.methods !== undefined && !proxy.methods.some(allowed => allowed === method))
    throw new VaultError('methodNotAllowed', { headers: { allow: proxy.methods.join(', ') } })
  const base = (proxy && destinations.get(proxy)) ?? readDestinationUrl(text, vault.destinationPorts)
  if (proxy !== undefined) destinations.set(proxy, base)
  if (base.fault !== undefined)
    throw new VaultError('destinationInvalid', { detail: `The URL ${base.fault}.` })
  const joined = joinDestination(base.url, suffix, query)
  if (joined === undefined) throw new VaultError('destinationInvalid', { detail: 'The path must be plain.' })
  if (hasOwnVia(asked.headers))
    throw new VaultError('destinationInvalid', { detail: 'The request has come through a vault before.' })
  return joined
}

type Rendered = Awaited<ReturnType<typeof renderRequest>>

const render = async (
  vault: Vault,
  caller: Caller,
  asked: ProxyRequest,
  url: DestinationUrl,
): Promise<Rendered> => {
  const { proxy, headers, body } = asked
  try {
    return await renderRequest(vault, caller, {
      headers: headersToSend(headers, asked),
      body,
      contentType: valueOfHeader(headers, 'content-type'),
      contentEncoding: valueOfHeader(headers, 'content-encoding'),
      requestTransforms: proxy?.requestTransforms ?? [],
      configuration: Object.fromEntries(
        Object.entries(proxy?.configuration ?? {}).map(([key, value]) => [
          key,
          value.expose('rendering a request to a destination'),
        ]),
      ),
      admit: token => admitted(caller, token, url),
    })
  } catch (error) {
    if (!(error instanceof RenderingFault)) throw error
    const { code, issues } = error
    throw new VaultError(renderingCodes[code], { issues })
  }
}

const renderingCodes = {
  expression_invalid: 'expressionInvalid',
  token_not_found: 'tokenNotFound',
  header_value_invalid: 'headerValueInvalid',
} as const satisfies Record<RenderingFault['code'], ErrorCode>

/** Undefined for a token that the caller may not use, which is like one that does not exist (U11). */
const admitted = (caller: Caller, { containers }: Token, url: DestinationUrl) => {
  const use = decideUse(caller.application, containers, url)
  if (use.outcome === 'destination_forbidden') throw new VaultError('destinationForbidden')
  if (use.outcome === 'permission_denied') throw new VaultError('permissionDenied')
  if (use.outcome !== 'allowed') return undefined
  return { permission: 'token:use', decision: use.decision, isRevealed: use.isRevealed } as const
}

const kinds = {
  sending: { operation: 'proxy.sending', route: '/proxy', entityType: 'proxy' },
  done: { operation: 'proxy.done', route: '/proxy', entityType: 'proxy' },
} as const satisfies Record<string, ActKind>

/** A call with its two records: one before its first byte, one that says what came of it (U20). */
class RecordedCall {
  readonly #vault: Vault
  readonly #caller: Caller
  readonly #asked: ProxyRequest
  readonly #url: DestinationUrl
  readonly #sending: Act
  readonly #done: Act
  #begun = 0
  #answered: OutboundAnswer | undefined
  #sentBytes = 0

  constructor(vault: Vault, caller: Caller, asked: ProxyRequest, url: DestinationUrl) {
    this.#vault = vault
    this.#caller = caller
    this.#asked = asked
    this.#url = url
    this.#sending = caller.act.another(kinds.sending)
    this.#done = caller.act.another(kinds.done)
  }

  /** The caller of what happens after the destination has answered. */
  get finishing(): Caller {
    return { ...this.#caller, act: this.#done }
  }

  get receipt(): string {
    return this.#vault.acts.idOf(this.#sending)
  }

  async send({ headers, body }: Rendered, heldBytes: number): Promise<OutboundAnswer> {
    const { proxy, method, signal, releaseBody } = this.#asked
    const { tenantNumber, application } = this.#caller
    const { outbound, clock } = this.#vault
    this.#begun = clock()
    // From here on, the call has room of its own: who waits for a destination takes nothing from other requests.
    releaseBody(heldBytes)
    const id = proxy?.id ?? `of ${application.id}`
    this.#answered = await outbound.send({
      tenant: tenantNumber,
      scope: { kind: 'proxy', id },
      url: this.#url,
      method,
      headers: completeHeaders(headers, { host: hostOf(this.#url), method, bodyBytes: body?.length }),
      body,
      limits: limitsOf(proxy),
      beforeFirstByte: () => this.#record(body?.length ?? 0),
      signal,
    })
    return this.#answered
  }

  /** How it ends as far as is known. Whatever is stored in the meantime is stored with it. */
  ends(status: number, result: ActResult): void {
    const { proxy } = this.#asked
    this.#done.says({
      ...(proxy && { entityId: proxy.id }),
      destination: {
        ...this.#destination,
        ...(this.#answered && { status: this.#answered.status, received: this.#answered.body.length }),
        sent: this.#sentBytes,
        ms: this.#vault.clock() - this.#begun,
      },
    })
    this.#done.ends(status, result)
    if (result === 'failed') this.finish()
  }

  /** A call that was refused before its record is none, and its refusal is recorded like any other. */
  finish(): void {
    if (this.#sending.isRecorded && !this.#done.isRecorded) this.#vault.acts.note(this.#caller, this.#done)
  }

  get #destination(): { origin: string; proxy_id?: string } {
    const { proxy } = this.#asked
    return { origin: this.#url.origin, ...(proxy && { proxy_id: proxy.id }) }
  }

  async #record(bytes: number): Promise<void> {
    const { proxy } = this.#asked
    const { act } = this.#caller
    this.#sending.tokens = act.tokens
    this.#sending.says({ ...(proxy && { entityId: proxy.id }), destination: this.#destination })
    await this.#vault.acts.record(this.#caller, this.#sending)
    act.isRecorded = true
    this.#sentBytes = bytes
  }
}

const hostOf = ({ host, port }: DestinationUrl): string => (port === standardPort ? host : `${host}:${port}`)

const limitsOf = (proxy: OutboundProxy | undefined): OutboundLimits => ({
  dnsMs: limits.destinationDnsMs,
  connectMs: limits.destinationConnectMs,
  firstByteMs:
    proxy?.timeoutSeconds === undefined ? limits.destinationFirstByteMs : proxy.timeoutSeconds * 1_000,
  betweenBytesMs: limits.destinationBetweenBytesMs,
  totalMs: limits.destinationTotalMs,
  answerBytes: limits.destinationAnswerBytes,
  wireBytes: limits.destinationWireBytes,
})

const refusals = {
  address: 'destinationUnreachable',
  dns: 'destinationUnreachable',
  connect: 'destinationUnreachable',
  tls: 'tlsFailed',
  timeout: 'destinationTimeout',
  answer: 'answerInvalid',
  busy: 'proxyBusy',
} as const satisfies Record<OutboundFailure, ErrorCode>

const asRefusal = (error: unknown): unknown => {
  if (!(error instanceof OutboundError)) return error
  const { failure, sent, status } = error
  const code = refusals[failure]
  return status === undefined ? new VaultError(code, { members: { sent } }) : new AnsweredError(code, status)
}

/** What the proxy's own transforms make of the answer; if one fails, nobody sees the answer. */
const changed = async (
  vault: Vault,
  caller: Caller,
  { proxy }: ProxyRequest,
  { status, headers, body }: OutboundAnswer,
): Promise<Buffer> => {
  const { responseTransforms = [] } = proxy ?? {}
  if (responseTransforms.length === 0) return body
  const contentType = valueOfHeader(headers, 'content-type')
  try {
    return await applyResponseTransforms(vault, caller, responseTransforms, { contentType, body })
  } catch (error) {
    throw error instanceof ResponseTransformFault
      ? new AnsweredError('responseTransformFailed', status)
      : error
  }
}

/** What the destination must not send back: what the request used, except what the caller may read anyway (U14). */
const guardFor = async (
  { work }: Caller,
  { proxy }: ProxyRequest,
  { used, insertedConfiguration }: Rendered,
): Promise<EchoGuard> => {
  if (proxy?.echoGuard === false) return new EchoGuard()
  const guard = new EchoGuard(insertedConfiguration)
  for (const { isRevealed, data } of used) {
    if (isRevealed) continue
    let added = 0
    for (const value of guardedValues(data)) {
      guard.add(value)
      if (++added % valuesAtOnce === 0 && !work.hasTurn) await work.turn()
    }
    if (!work.hasTurn) await work.turn()
  }
  return guard
}

const valuesAtOnce = 256

/** The last long answer of a tenant that is worked on. */
const workedOn = new WeakMap<TenantKeys, Promise<void>>()
const longAnswerBytes = 1 << 16

/** Long answers of a tenant are worked on one after another: that takes many times their length of memory, and no less time at once. */
const oneByOne = async <T>({ keys }: Caller, bytes: number, work: () => Promise<T>): Promise<T> => {
  if (bytes < longAnswerBytes) return work()
  const before = workedOn.get(keys)
  const { promise, resolve } = Promise.withResolvers<void>()
  workedOn.set(keys, promise)
  try {
    await before
    return await work()
  } finally {
    resolve()
  }
}

const maskAll = async (guard: EchoGuard, body: Buffer, { work }: Caller): Promise<void> => {
  for (const _ of guard.mask(body)) if (!work.hasTurn) await work.turn()
}
