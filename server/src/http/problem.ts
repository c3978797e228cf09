import { catalogue, type ErrorCode, type Issue, VaultError, wireCode } from '../domain/errors.ts'
import { foreignCode } from '../domain/foreign-code.ts'
import { limits } from '../domain/limits.ts'
import { KeyProviderError } from '../keys/key-provider.ts'
import { StoreUnavailableError } from '../store/port.ts'

/** An error in its form on the wire (C2, RFC 9457). */
export type Problem = {
  readonly status: number
  readonly title: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export const problemType = 'application/problem+json; charset=utf-8'

export const problem = (error: VaultError, trace: string): Problem => {
  const { status, title } = catalogue[error.code]
  return {
    status,
    title,
    headers: error.headers,
    body: `${JSON.stringify({
      type: 'about:blank',
      title,
      status,
      code: wireCode(error.code),
      detail: error.message,
      trace_id: trace,
      ...(status === 400 && { errors: errorMap(error.issues, error.message) }),
      ...error.members,
    })}\n`,
  }
}

/** If the request was refused before its body was read, the fault is that of the whole body. */
const errorMap = (issues: readonly Issue[], whole: string): Record<string, string[]> => {
  const messages = new Map<string, string[]>()
  for (const { path, message } of issues.length > 0
    ? issues.slice(0, limits.errorsPerAnswer)
    : [{ path: '', message: whole }]) {
    const place = path === '' ? '$' : path
    messages.set(place, [...(messages.get(place) ?? []), message])
  }
  return Object.fromEntries(messages)
}

/** Error codes of Node's parser, as ours. */
const parserErrors: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headersTooLarge',
}

/** Maps anything thrown to an entry of the catalogue. Anything unforeseen is a bug of ours, and the answer says only 500. */
export const asVaultError = (error: unknown, unforeseen: ErrorCode = 'internal'): VaultError => {
  if (error instanceof VaultError) return error
  if (error instanceof StoreUnavailableError || error instanceof KeyProviderError)
    return new VaultError('unavailable')
  return new VaultError(parserErrors[foreignCode(error)] ?? unforeseen)
}
