import { catalogue, type ErrorCode, wireCode } from '../domain/errors.ts'
import { choice } from './schema.ts'
import { Type } from './type.ts'

const codes = (Object.keys(catalogue) as ErrorCode[]).map(wireCode)

/** C2: the body of every refusal. */
export const Problem = Type.Object({
  type: Type.String({ description: 'Always about:blank.' }),
  title: Type.String({ description: 'The kind of refusal.' }),
  status: Type.Integer({ description: 'The status of the answer.' }),
  code: choice(codes, {
    description: 'What was refused, for programs: it stays as it is when the texts change.',
  }),
  detail: Type.String({
    description: 'What was refused and why, for people; it repeats no value that was sent.',
  }),
  trace_id: Type.String({
    description: 'The trace id, as in the header: the operator finds the request by it.',
  }),
  errors: Type.Optional(
    Type.Unsafe<Record<string, string[]>>({
      type: 'object',
      additionalProperties: { type: 'array', items: { type: 'string' } },
      description: 'With 400: what is wrong, by place, such as data.number or [2].type; $ is the whole.',
    }),
  ),
  sent: Type.Optional(
    Type.Boolean({
      description:
        'Of a request that was to go on to a destination: whether the destination may have got it and acted on it.',
    }),
  ),
  oldest: Type.Optional(
    Type.String({ description: 'With cursor_too_old: the cursor of the oldest event that is kept.' }),
  ),
})

/** U15: an error of the proxy's own, which cannot be taken for an answer of the destination. */
export const ProxyProblem = Type.Object({ proxy_error: Problem })
