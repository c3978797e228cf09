/** What a call failed of. `answer`: the destination answered what cannot be passed on; `busy`: too many calls are under way. */
export type OutboundFailure = 'address' | 'dns' | 'connect' | 'tls' | 'timeout' | 'answer' | 'busy'

/** A call that gave no answer. Its message names no address: who may not see the network must not learn about it from errors. */
export class OutboundError extends Error {
  readonly failure: OutboundFailure
  /** Whether bytes of the request may have left, so that the destination may have acted on it. */
  readonly sent: boolean
  /** The destination's status, if it had answered that much. */
  readonly status: number | undefined

  constructor(
    failure: OutboundFailure,
    { sent = false, status }: { sent?: boolean; status?: number | undefined } = {},
  ) {
    super(`the call failed: ${failure}`)
    this.name = 'OutboundError'
    this.failure = failure
    this.sent = sent
    this.status = status
  }
}
