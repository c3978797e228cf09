import { Type } from './type.ts'

/** C2: the body of every refusal. */
export const Problem = Type.Object({
  type: Type.String(),
  title: Type.String(),
  status: Type.Integer(),
  detail: Type.Optional(Type.String()),
  trace_id: Type.String(),
  errors: Type.Optional(
    Type.Unsafe<Record<string, string[]>>({
      type: 'object',
      additionalProperties: { type: 'array', items: { type: 'string' } },
    }),
  ),
})
