import { type CatalogueEntry, catalogue, type ErrorCode, wireCode } from '../domain/errors.ts'
import type { Endpoint } from './endpoint.ts'
import type { answerHeaders } from './headers.ts'

/** What a status means at one endpoint, and the headers that come with it. */
export type DeclaredProblem = {
  readonly status: number
  readonly codes: readonly string[]
  readonly details: readonly string[]
  readonly headers: readonly (keyof typeof answerHeaders)[]
}

/** Every problem that callers of this endpoint can meet, by status, except those of broken HTTP, which can occur anywhere. */
export const problemsOf = (declared: Endpoint): DeclaredProblem[] => {
  const byStatus = Map.groupBy(codesOf(declared), code => catalogue[code].status)
  return [...byStatus]
    .sort(([one], [other]) => one - other)
    .map(([status, codes]) => {
      const entries = codes.map((code): CatalogueEntry => catalogue[code])
      return {
        status,
        codes: codes.map(wireCode),
        details: entries.map(({ detail }) => detail),
        headers: [
          ...(codes.includes('unauthorized') ? (['WWW-Authenticate'] as const) : []),
          ...(entries.some(({ isTransient }) => isTransient) ? (['Retry-After'] as const) : []),
        ],
      }
    })
}

const codesOf = (declared: Endpoint): ErrorCode[] => {
  const { permission, path, bodyType, isProbe, changes, takesIdempotencyKey, problems = [] } = declared
  const codes: ErrorCode[] = ['internal', ...problems]
  if (isProbe !== true) codes.push('overloaded')
  // What else is refused there is broken HTTP, of which this is the kind that clients can cause.
  if (permission === 'open') codes.push('headersTooLarge')
  if (permission !== 'open') codes.push('invalidRequest', 'unauthorized', 'rateLimited', 'unavailable')
  if (permission !== 'open' && permission !== 'any key') codes.push('forbidden')
  if (path.includes(':')) codes.push('notFound')
  if (bodyType !== undefined) codes.push('unsupportedMediaType', 'bodyTooLarge')
  if (changes === true) codes.push('writeContention')
  if (takesIdempotencyKey) codes.push('requestInFlight', 'idempotencyMismatch')
  return codes
}
