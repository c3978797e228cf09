import type { Json } from '../domain/json/json.ts'
import type { Limits } from '../domain/limits.ts'

// The part of OpenAPI 3.1 that the vault's own document uses.

export type Reference = { readonly $ref: string }

export type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly description?: string
  readonly enum?: readonly Json[]
  readonly const?: Json
  readonly default?: Json
  readonly examples?: readonly Json[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | false
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minItems?: number
  readonly maxItems?: number
}

export type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: true
  readonly description: string
  readonly schema: Schema
  readonly style?: 'form' | 'deepObject'
  readonly explode?: true
  readonly example?: Json
}

export type Header = { readonly required?: true; readonly description: string; readonly schema: Schema }

export type Example = { readonly summary?: string; readonly value: Json }

export type Content = Readonly<
  Record<
    string,
    { readonly schema: Schema; readonly examples?: Readonly<Record<string, Example | Reference>> }
  >
>

export type Operation = {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, never[]>>[]
  readonly 'x-permission'?: string
  readonly parameters: readonly (Parameter | Reference)[]
  readonly requestBody?: {
    readonly required: boolean
    readonly description?: string
    readonly content: Content
  }
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string
        /** The codes of the problems with this status. */
        readonly 'x-codes'?: readonly string[]
        readonly headers: Readonly<Record<string, Reference>>
        readonly content?: Content
      }
    >
  >
}

export type OpenApiDocument = {
  readonly openapi: string
  readonly info: {
    readonly title: string
    readonly version: string
    readonly summary: string
    readonly description: string
    readonly contact: { readonly name: string }
    readonly license: { readonly name: string; readonly identifier: string }
  }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters: Readonly<Record<string, Parameter>>
    readonly headers: Readonly<Record<string, Header>>
    readonly examples: Readonly<Record<string, Example>>
    readonly securitySchemes: {
      readonly apiKey: { readonly type: 'apiKey'; readonly in: 'header'; readonly name: string }
    }
  }
  readonly 'x-limits': Limits
}
