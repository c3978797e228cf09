import { VaultError } from '../errors.ts'

/** A body in which expressions are looked for (U12). Anything else passes as it is. */
export type BodyForm = 'json' | 'form'

export const bodyFormOf = (contentType: string | undefined): BodyForm | undefined => {
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type === 'application/x-www-form-urlencoded') return 'form'
  return type === 'application/json' || /^[^/]+\/[^/]+\+json$/.test(type) ? 'json' : undefined
}

/** Whether the text of a body of this type is UTF-8, as far as its Content-Type says. */
export const isUtf8Type = (contentType: string | undefined): boolean => {
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(contentType ?? '') ?? []
  return /^utf-?8$/i.test(charset)
}

/** The form of a body that is about to be read. Throws 415 where its text could not be. */
export const readableForm = (
  contentType: string | undefined,
  contentEncoding: string | undefined,
): BodyForm | undefined => {
  const form = bodyFormOf(contentType)
  if (form === undefined) return undefined
  if (!isUtf8Type(contentType))
    throw new VaultError('unsupportedMediaType', { detail: 'The charset must be UTF-8.' })
  if (contentEncoding !== undefined && contentEncoding.trim().toLowerCase() !== 'identity')
    throw new VaultError('unsupportedMediaType', {
      detail: 'The body must be sent without a Content-Encoding.',
    })
  return form
}
