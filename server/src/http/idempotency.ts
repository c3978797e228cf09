import { idempotencyKeyHeader, ownHeaders } from '../contract/headers.ts'
import { invalid, VaultError } from '../domain/errors.ts'
import { NamesInFlight } from '../domain/names-in-flight.ts'
import type { Caller, Idempotent, IdempotentRequest, Vault } from '../operations/vault/vault.ts'
import { findResult, type KeptResult, requestHash } from '../operations/writing/kept-results.ts'
import { StoreUnavailableError } from '../store/port.ts'
import type { Answer } from './handlers.ts'

/** §4.11, C33: one mechanism for every endpoint that changes something. */
export type Idempotency = {
  readonly header: string
  /** Runs the request, or repeats the answer to the first request with its key. */
  once(
    caller: Caller,
    request: Omit<IdempotentRequest, 'body'> & { readonly body: Uint8Array | undefined },
    run: (idempotent: Idempotent) => Promise<Answer>,
  ): Promise<Answer | Replayed>
}

/** The answer to an earlier request. */
export class Replayed {
  readonly answer: Answer
  /** What the record of the first request named. */
  readonly named: KeptResult['named']

  constructor({ answer, named }: KeptResult) {
    this.answer = answer
    this.named = named
  }
}

/** A refused request need not learn whether a kept answer exists. */
const unlessUnavailable = (failure: unknown): undefined => {
  if (!(failure instanceof StoreUnavailableError)) throw failure
}

/** The idempotency keys in flight on this machine, in any of its processes. */
export type KeysInFlight = {
  /** False if a request with this name is in flight. */
  take(name: string): Promise<boolean>
  release(name: string): Promise<void>
}

/**
 * Only this machine knows which keys are in flight. No lease is written, so a process that dies leaves none behind. Between
 * machines the commit decides, because the kept answer is part of it.
 */
export const idempotency = (
  vault: Vault,
  options: { headerPrefix: string; strict: boolean; inFlight?: KeysInFlight },
): Idempotency => {
  const { headerPrefix, strict, inFlight = keysOfThisProcess() } = options
  return {
    header: ownHeaders(headerPrefix).idempotencyKey,
    once: async (caller, { body = new Uint8Array(0), ...rest }, run) => {
      const request = { ...rest, body }
      const hash = requestHash(caller, request)
      const replay = async (): Promise<Replayed | undefined> => {
        const kept = await findResult(vault, caller, hash, request)
        if (kept === undefined) return undefined
        if (strict && !kept.sameBody) throw new VaultError('idempotencyMismatch')
        return new Replayed(kept)
      }
      const replayed = await replay()
      if (replayed !== undefined) return replayed
      // Replays may run side by side. Requests that found no kept answer run one at a time.
      const name = `${caller.tenantNumber}:${hash.toString('base64')}`
      if (!(await inFlight.take(name))) throw new VaultError('requestInFlight')
      try {
        return await run({ hash, request })
      } catch (error) {
        // The first request may have committed after our search and before we took the name. Then the commit refuses this
        // request, unless an operation refused it earlier because of what the first one did: the id is taken, for example.
        const mayBeSecond = error instanceof VaultError && error.code !== 'requestInFlight'
        const answered = mayBeSecond ? await replay().catch(unlessUnavailable) : undefined
        if (answered === undefined) throw error
        return answered
      } finally {
        // Released before the answer is sent: a client that retries must not be told that its request is in flight.
        await inFlight.release(name)
      }
    },
  }
}

const keysOfThisProcess = (): KeysInFlight => {
  const names = new NamesInFlight<'this process'>()
  return {
    take: async name => names.take(name, 'this process'),
    release: async name => names.release(name),
  }
}

const { maxLength, pattern } = idempotencyKeyHeader.schema
const usable = new RegExp(pattern)

export const readIdempotencyKey = (sent: string | string[]): string => {
  if (typeof sent === 'string' && sent.length <= maxLength && usable.test(sent)) return sent
  throw invalid({
    path: idempotencyKeyHeader.name,
    message: `must be 1 to ${maxLength} visible ASCII characters`,
  })
}
