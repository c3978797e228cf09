import type { Json, JsonObject } from '../../domain/json/json.ts'
import { limits } from '../../domain/limits.ts'
import type { TokenPatch } from '../../domain/patching/token-patch.ts'
import type { TokenFields } from '../../domain/tokens/token-definition.ts'
import { tokenTypes } from '../../domain/tokens/types/registry.ts'
import type { TokenType } from '../../domain/tokens/types/token-type.ts'
import { Pagination } from '../paging.ts'
import { tokenId } from '../path-parameters.ts'
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
} from '../schema.ts'
import { type Static, type TSchema, Type } from '../type.ts'

const expression = text({ max: limits.expressionCharactersMax })
export const expiryForms =
  'ISO 8601, or <month>/<day>/<year>, alone or with <hour>:<minute>:<second> <AM or PM> <offset>; UTC where no offset is given.'
const expiry = text({ description: expiryForms })
const container = text({ max: limits.containerCharactersMax })

/** C9. */
export const tokenTypeName = Type.Unsafe<string>({
  type: 'string',
  maxLength: limits.typeCharactersMax,
  enum: [...tokenTypes.keys()],
})

/** `us_bank_account_number` → `UsBankAccountNumberData` */
export const dataName = ({ name }: TokenType): string =>
  `${name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Data`

/** What `data` looks like, for each type of token. */
export const dataSchemas: Readonly<Record<string, TSchema>> = Object.fromEntries(
  // A schema of its own for each, because a schema has one name.
  [...tokenTypes.values()].map(type => [dataName(type), { ...type.schema }]),
)

/** `TokenData for token, CardData for card, …` */
const dataForms = [...tokenTypes.values()].map(type => `${dataName(type)} for ${type.name}`).join(', ')

/** An example body of `POST /tokens` for each type. */
export const typeExamples: Readonly<Record<string, JsonObject>> = Object.fromEntries(
  [...tokenTypes.values()].map(({ name, example }) => [name, { type: name, data: example }]),
)

/** §4.2. Also a token definition inside a tokenize payload (C23). */
export const CreateToken = body({
  id: Type.Optional(
    text({ max: limits.idCharactersMax, description: 'A literal id, or an expression for one.' }),
  ),
  type: Type.Unsafe<string>({
    ...tokenTypeName,
    description: 'Decides the form of the data, and the defaults below.',
  }),
  // Of the forms, the check sees the first, which any JSON has; the type decides which of them it must be.
  data: Type.Unsafe<Json>({
    anyOf: Object.values(dataSchemas),
    description: `The sensitive value. Its form depends on the type: ${dataForms}.`,
  }),
  mask: Type.Optional(
    anyJson({ description: 'What callers without reveal see; strings in it are expressions.' }),
  ),
  containers: Type.Optional(
    textList({
      items: container,
      min: 1,
      max: limits.containersPerToken,
      description: 'Paths such as /pci/high/; the type has a default.',
    }),
  ),
  metadata: Type.Optional(textMap({ description: 'Not sensitive; lists and searches filter by it.' })),
  search_indexes: Type.Optional(
    textList({
      items: expression,
      max: limits.searchIndexes,
      description: 'Expressions; a search for data: finds what they render.',
    }),
  ),
  fingerprint_expression: Type.Optional(
    text({ max: limits.expressionCharactersMax, description: 'What the fingerprint is made of.' }),
  ),
  deduplicate_token: Type.Optional(
    flag({ description: 'Whether an equal token is returned in place of a new one.' }),
  ),
  expires_at: Type.Optional(expiry),
} satisfies Record<keyof TokenFields, TSchema>)
export type CreateToken = Static<typeof CreateToken>

/** §4.5. Null clears a field or restores its default (C18). */
export const UpdateToken = body({
  data: Type.Optional(
    anyJson({
      description: 'Merged into the data: a field that is null is removed; null itself is refused.',
    }),
  ),
  mask: Type.Optional(anyJson({ description: 'Merged into the mask; null leaves the token without one.' })),
  metadata: Type.Optional(
    nullableTextMap({
      description: 'Merged into the metadata: a key that is null is removed; null itself removes all.',
    }),
  ),
  containers: Type.Optional(
    nullableTextList({
      items: container,
      min: 1,
      max: limits.containersPerToken,
      description: "Replace those before; null brings back the type's.",
    }),
  ),
  search_indexes: Type.Optional(
    nullableTextList({
      items: expression,
      max: limits.searchIndexes,
      description: 'Replace those before; null leaves the token without any.',
    }),
  ),
  fingerprint_expression: Type.Optional(
    nullableText({
      max: limits.expressionCharactersMax,
      description: "Replaces the one before; null brings back the type's.",
    }),
  ),
  deduplicate_token: Type.Optional(
    nullableFlag({
      description:
        'Whether an equal token is returned, and this one left as it was; null leaves that to the tenant.',
    }),
  ),
  expires_at: Type.Optional(
    nullableText({ description: `Replaces the one before; null: never. ${expiryForms}` }),
  ),
} satisfies Record<keyof TokenPatch, TSchema>)
export type UpdateToken = Static<typeof UpdateToken>

/** §2.1. `enrichments` is never present (C12). */
export const Token = Type.Object({
  id: Type.String({ examples: [tokenId.example] }),
  type: Type.String({ examples: ['token'] }),
  tenant_id: Type.String({ format: 'uuid' }),
  data: Type.Optional(
    anyJson({
      description:
        "Under the caller's transform; masked in answers to writes. What is shown whole has the form of its type.",
      examples: ['XXXXXXXXXXX.com'],
    }),
  ),
  mask: Type.Optional(
    anyJson({
      description: "The caller's own expressions, or the type's default mask, evaluated.",
      examples: ['{{ data | reveal_last: 4 }}'],
    }),
  ),
  metadata: Type.Optional(textMap({ examples: [{ customer: '8' }] })),
  fingerprint: Type.Optional(Type.String({ examples: ['4Yh2Zp8wXv3nKq7RtLm5JcD9sFbG6eUaTiQo1WzPxNy'] })),
  fingerprint_expression: Type.Optional(Type.String({ examples: ['{{ data | stringify }}'] })),
  search_indexes: Type.Optional(Type.Array(Type.String({ examples: ['{{ data }}'] }))),
  containers: Type.Array(Type.String({ examples: ['/general/high/'] })),
  expires_at: Type.Optional(Type.String({ format: 'date-time', examples: [] })),
  created_by: Type.String({ format: 'uuid' }),
  created_at: Type.String({ format: 'date-time' }),
  modified_by: Type.Optional(Type.String({ format: 'uuid', examples: [] })),
  modified_at: Type.Optional(Type.String({ format: 'date-time', examples: [] })),
  _extras: Type.Optional(Type.Object({ deduplicated: Type.Boolean() }, { examples: [] })),
})

/** §2.6, C24. */
export const TokenPage = Type.Object({
  pagination: Pagination,
  data: Type.Array(Token),
})

/** C25. */
export const CursorPagination = Type.Object({
  page_size: Type.Integer({ examples: [20] }),
  next: Type.Optional(
    Type.String({
      description: 'The `start` of the next page; absent on the last one.',
      examples: ['AAAAAAAAABs'],
    }),
  ),
})
export const TokenCursorPage = Type.Object({
  pagination: CursorPagination,
  data: Type.Array(Token),
})
