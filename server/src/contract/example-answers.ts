import type { Json, JsonObject } from '../domain/json/json.ts'
import type { Schema } from './openapi-document.ts'

/** By format, where a field says nothing of its own. */
const formats: Readonly<Record<string, string>> = {
  uuid: '019c9f1e-6a00-7000-8000-3f2b6d0c5a11',
  'date-time': '2026-03-01T12:00:00.000+00:00',
}

/**
 * A value as the schema describes it, made of what its fields give as `examples`. A field with none of its own gets a plain value of
 * its type; an optional one whose `examples` are empty is left out.
 */
export const exampleAnswer = (schema: Schema, named: Readonly<Record<string, Schema>>): Json => {
  const { $ref, examples, const: constant, enum: values, anyOf, type, format } = schema
  if (examples?.[0] !== undefined) return examples[0]
  if ($ref !== undefined) return exampleAnswer(named[$ref.split('/').at(-1) ?? ''] ?? {}, named)
  if (constant !== undefined) return constant
  if (values?.[0] !== undefined) return values[0]
  if (anyOf?.[0] !== undefined) return exampleAnswer(anyOf[0], named)
  switch ([type].flat()[0]) {
    case 'object':
      return exampleObject(schema, named)
    case 'array':
      return schema.items === undefined ? [] : [exampleAnswer(schema.items, named)]
    case 'integer':
    case 'number':
      return schema.minimum ?? 1
    case 'boolean':
      return true
    case 'string':
      return formats[format ?? ''] ?? 'text'
    default:
      return {}
  }
}

const exampleObject = (
  { properties, required = [], additionalProperties }: Schema,
  named: Readonly<Record<string, Schema>>,
): JsonObject => {
  if (properties === undefined)
    return additionalProperties ? { key: exampleAnswer(additionalProperties, named) } : {}
  const shown = Object.entries(properties).filter(
    ([name, { examples }]) => required.includes(name) || examples?.length !== 0,
  )
  return Object.fromEntries(shown.map(([name, field]) => [name, exampleAnswer(field, named)]))
}
