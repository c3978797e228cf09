import { limits } from '../domain/limits.ts'
import { tokenTypes } from '../domain/token-types/registry.ts'
import { Pagination } from './paging.ts'
import {
  anyJson,
  body,
  flag,
  nullableFlag,
  nullableText,
  nullableTextList,
  nullableTextMap,
  text,
  textList,
  textMap,
} from './schema.ts'
import { type Static, Type } from './type.ts'

const expression = text({ max: limits.expressionCharactersMax })
const container = text({ max: limits.containerCharactersMax })

/** §4.2; also a token definition inside a tokenize payload (C23). */
export const CreateToken = body({
  id: Type.Optional(
    text({ max: limits.idCharactersMax, description: 'A literal id, or an expression for one.' }),
  ),
  type: text({ max: limits.typeCharactersMax, description: `One of: ${[...tokenTypes.keys()].join(', ')}.` }),
  data: anyJson({ description: 'The sensitive value; its form depends on the type.' }),
  mask: Type.Optional(
    anyJson({ description: 'What callers without reveal see; strings in it are expressions.' }),
  ),
  containers: Type.Optional(textList({ items: container, min: 1, max: limits.containersPerToken })),
  metadata: Type.Optional(textMap()),
  search_indexes: Type.Optional(textList({ items: expression, max: limits.searchIndexes })),
  fingerprint_expression: Type.Optional(expression),
  deduplicate_token: Type.Optional(flag()),
  expires_at: Type.Optional(text()),
})
export type CreateToken = Static<typeof CreateToken>

/** §4.5; null clears a field or puts back its default (C18). */
export const UpdateToken = body({
  data: Type.Optional(anyJson({ description: 'Merged into the data.' })),
  mask: Type.Optional(anyJson({ description: 'Merged into the mask.' })),
  metadata: Type.Optional(nullableTextMap()),
  containers: Type.Optional(nullableTextList({ items: container, min: 1, max: limits.containersPerToken })),
  search_indexes: Type.Optional(nullableTextList({ items: expression, max: limits.searchIndexes })),
  fingerprint_expression: Type.Optional(nullableText({ max: limits.expressionCharactersMax })),
  deduplicate_token: Type.Optional(nullableFlag()),
  expires_at: Type.Optional(nullableText()),
})
export type UpdateToken = Static<typeof UpdateToken>

/** §2.1. `enrichments` is never there (C12). */
export const Token = Type.Object({
  id: Type.String(),
  type: Type.String(),
  tenant_id: Type.String({ format: 'uuid' }),
  data: Type.Optional(anyJson({ description: "Under the caller's transform; masked in answers to writes." })),
  mask: Type.Optional(
    anyJson({ description: "The caller's own expressions, or the type's default mask, evaluated." }),
  ),
  metadata: Type.Optional(textMap()),
  fingerprint: Type.Optional(Type.String()),
  fingerprint_expression: Type.Optional(Type.String()),
  search_indexes: Type.Optional(Type.Array(Type.String())),
  containers: Type.Array(Type.String()),
  expires_at: Type.Optional(Type.String({ format: 'date-time' })),
  created_by: Type.String({ format: 'uuid' }),
  created_at: Type.String({ format: 'date-time' }),
  modified_by: Type.Optional(Type.String({ format: 'uuid' })),
  modified_at: Type.Optional(Type.String({ format: 'date-time' })),
  _extras: Type.Optional(Type.Object({ deduplicated: Type.Boolean() })),
})

/** §2.6, C24. */
export const TokenPage = Type.Object({
  pagination: Pagination,
  data: Type.Array(Token),
})

/** C25; `next` is absent on the last page. */
export const TokenCursorPage = Type.Object({
  pagination: Type.Object({
    page_size: Type.Integer(),
    next: Type.Optional(Type.String({ description: 'The `start` of the next page.' })),
  }),
  data: Type.Array(Token),
})
