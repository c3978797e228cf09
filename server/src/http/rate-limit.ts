import { VaultError } from '../domain/errors.ts'
import type { CallerKey } from '../operations/vault/vault.ts'

/**
 * Refuses a key that is over its rate with 429 and Retry-After. Answers at once if the buckets are in this process, and with a
 * promise if several processes share them.
 */
export type RateLimit = (apiKey: CallerKey) => undefined | Promise<undefined>

/** `takeShare` is undefined if no rate is set. */
export const rateLimit = (takeShare: ((name: string) => number | Promise<number>) | undefined): RateLimit => {
  if (takeShare === undefined) return () => undefined
  return ({ hash }) => {
    const waitSeconds = takeShare(Buffer.from(hash).toString('base64'))
    return typeof waitSeconds === 'number' ? refuseIf(waitSeconds) : waitSeconds.then(refuseIf)
  }
}

const refuseIf = (waitSeconds: number): undefined => {
  if (waitSeconds > 0)
    throw new VaultError('rateLimited', { headers: { 'retry-after': String(waitSeconds) } })
}
