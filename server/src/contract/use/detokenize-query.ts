import { type Issue, requireNone } from '../../domain/errors.ts'
import type { QueryParameter } from '../endpoint.ts'
import { checkNames, type QueryPair, singleValue } from '../query-pairs.ts'
import { Type } from '../type.ts'

export const detokenizeParameters: readonly QueryParameter[] = [
  {
    name: 'missing',
    schema: Type.Unsafe<string>({ type: 'string', enum: ['null'] }),
    description:
      'With `null`, a string that names a token which is not there becomes null, and the answer counts those strings. Otherwise it is an error.',
  },
]

export type DetokenizeQuery = { readonly absentIsNull: boolean }

/** The query of `POST /detokenize` (U4). */
export const readDetokenizeQuery = (pairs: readonly QueryPair[]): DetokenizeQuery => {
  const issues: Issue[] = []
  checkNames(pairs, detokenizeParameters, issues)
  const missing = singleValue(pairs, 'missing', issues)
  if (missing !== undefined && missing !== 'null') issues.push({ path: 'missing', message: 'must be null' })
  requireNone(issues)
  return { absentIsNull: missing !== undefined }
}
