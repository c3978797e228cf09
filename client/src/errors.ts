export type ErrorDetails = {
  readonly code: string
  readonly message: string
  readonly advice: string
  readonly status?: number | undefined
  readonly errors?: Readonly<Record<string, readonly string[]>> | undefined
  readonly traceId?: string | undefined
  readonly retryAfterMs?: number | undefined
  readonly idempotencyKey?: string | undefined
  readonly oldest?: string | undefined
}

/**
 * Everything that calls throw, except what an aborted `signal` gives as its reason. No error holds the API key, what was sent, or
 * another error as its cause: those of `fetch` may quote headers.
 */
export class VaultError extends Error {
  /** What went wrong, for programs: it stays as it is when texts change. */
  readonly code: string
  /** What to do about it. */
  readonly advice: string
  /** Of the answer, if there was one. */
  readonly status: number | undefined
  /** What is wrong with the request, by place, such as `data.number` or `[2].type`. */
  readonly errors: Readonly<Record<string, readonly string[]>>
  /** The operator finds the request by it. */
  readonly traceId: string | undefined
  /** How long the vault asks to wait. */
  readonly retryAfterMs: number | undefined
  /** Of the write. A repeated call with it does nothing twice. */
  readonly idempotencyKey: string | undefined
  /** With `cursor_too_old`: the cursor to go on from. */
  readonly oldest: string | undefined

  constructor(details: ErrorDetails) {
    const { code, traceId, errors = {} } = details
    const places = Object.entries(errors).map(([place, messages]) => ` ${place}: ${messages.join(', ')}.`)
    super(
      `${details.message}${places.join('')} [${code}${traceId === undefined ? '' : `, trace ${traceId}`}]`,
    )
    // Not the constructor's name, which minifiers change.
    this.name = `${code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Error`
    this.code = code
    this.advice = details.advice
    this.status = details.status
    this.errors = errors
    this.traceId = traceId
    this.retryAfterMs = details.retryAfterMs
    this.idempotencyKey = details.idempotencyKey
    this.oldest = details.oldest
  }
}

/** No whole answer arrived. What was asked for may have happened. */
export class ConnectionError extends VaultError {}

/** No whole answer arrived in time. */
export class TimedOutError extends ConnectionError {}

/**
 * A key, or a webhook's secret, was made, and the answer that showed it was lost: the repeated request is answered without it.
 * Revoke what `id` names, and create another one.
 */
export class KeyTextLostError extends VaultError {
  /** Of the key, or of the application, proxy or webhook that was made with it. */
  readonly id: string

  constructor(id: string, details: Pick<ErrorDetails, 'idempotencyKey' | 'traceId' | 'status'>) {
    super({
      ...details,
      code: 'key_text_lost',
      message: `${id} was made, and the answer with its key is lost.`,
      advice:
        'Revoke the key, or delete what was made with it, and create another with a new idempotency key.',
    })
    this.id = id
  }
}

/** What was delivered is not from the vault, or is old. */
export class WebhookInvalidError extends VaultError {
  constructor(message: string) {
    super({ code: 'webhook_invalid', message, advice: 'Answer 400 and do nothing.' })
  }
}
