import { Type } from './type.ts'

/** C2: the body of every refusal. */
export const Problem = Type.Object({
  type: Type.String({ description: 'Always about:blank.' }),
  title: Type.String({ description: 'The kind of refusal.' }),
  status: Type.Integer({ description: 'The status of the answer.' }),
  detail: Type.Optional(
    Type.String({ description: 'What was refused and why; it repeats no value that was sent.' }),
  ),
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
})
