/**
 * Wraps and unwraps the vault's keys under a master key that the vault itself never stores beside its data.
 * `context` says what the key is for; a wrapped key opens only under the context that it was wrapped for.
 * Every provider passes the same suite: test/keys/key-provider-contract.ts.
 */
export type KeyProvider = {
  wrap(key: Uint8Array, context: string): Promise<Buffer>
  /** Throws KeyProviderError if the wrapped key is not this provider's, was changed, or has another context. */
  unwrap(wrapped: Uint8Array, context: string): Promise<Buffer>
  /** Whether this key is wrapped with the master key that `wrap` uses now. Also false for a key that does not open. */
  isCurrent(wrapped: Uint8Array, context: string): Promise<boolean>
  /** Resolves if the provider can wrap and unwrap, and throws KeyProviderError if it cannot. */
  health(): Promise<void>
}

export class KeyProviderError extends Error {
  /** The reason for the log, in constant words. It never quotes the answer of a key service. */
  readonly outage: string | undefined

  constructor(message: string, outage?: string) {
    super(message)
    this.name = 'KeyProviderError'
    this.outage = outage
  }
}
