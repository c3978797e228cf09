import { permissionsByType, tokenPermissions } from '../../domain/access/permissions.ts'
import { limits } from '../../domain/limits.ts'
import { destinationCharactersMax } from '../../domain/outbound/destination-url.ts'
import { Pagination } from '../paging.ts'
import { body, choice, flag, nullableText, text, textList } from '../schema.ts'
import { expiryForms, tokenTypeName } from '../tokens/schemas.ts'
import { type Static, Type } from '../type.ts'

const name = text({
  min: 1,
  max: limits.nameCharactersMax,
  description: 'For people; it need not be unique.',
})
const permissionList = (description: string) =>
  textList({
    items: text(),
    max: limits.permissionsMax,
    description,
    examples: [['token:read', 'token:search']],
  })
const applicationTypes = Object.keys(permissionsByType) as (keyof typeof permissionsByType)[]
export const applicationType = choice(applicationTypes)

/** C28. The domain decides which permissions and containers are allowed. */
export const AccessRule = body({
  description: Type.Optional(
    nullableText({
      max: limits.nameCharactersMax,
      description: 'For people; it decides nothing.',
      examples: ['Looks up customers'],
    }),
  ),
  priority: Type.Integer({
    examples: [1],
    minimum: 0,
    maximum: limits.rulePriorityMax,
    description:
      'The first rule by ascending priority that covers the container and holds the permission decides. Unique in an application.',
  }),
  container: text({
    max: limits.containerCharactersMax,
    description: 'The container that the rule covers, with all below it, such as /pci/; / covers all.',
    examples: ['/general/'],
  }),
  transform: choice(['reveal', 'mask', 'redact'], {
    description: "How data is shown: whole, under the token's mask, or not at all.",
    examples: ['mask'],
  }),
  permissions: permissionList('What the rule grants on the tokens that it covers, such as token:read.'),
  destinations: Type.Optional(
    textList({
      items: text({ max: destinationCharactersMax }),
      min: 1,
      max: limits.destinationsPerRule,
      examples: [],
      description:
        'Only with token:use, for which the rule then counts only if the value goes to one of these: https://host[:port]/path/ or https://*.host/.',
    }),
  ),
})

const flatPermissions = 'Granted on every container, with the transform mask; not together with rules.'
const rules = (description: string) =>
  Type.Array(AccessRule, { maxItems: limits.rulesPerApplication, description })

export const CreateApplication = body({
  name,
  type: choice(applicationTypes, {
    description: 'Decides which permissions it may hold. It cannot be changed later.',
  }),
  permissions: Type.Optional(permissionList(flatPermissions)),
  rules: Type.Optional(rules('Grant permissions container by container; not together with permissions.')),
  create_key: Type.Optional(
    flag({ description: 'Whether to make its first key, which this answer alone shows. Default: true.' }),
  ),
})
export type CreateApplication = Static<typeof CreateApplication>

export const UpdateApplication = body({
  name,
  type: Type.Optional(
    choice(applicationTypes, { description: 'The type that it has: it cannot be changed.' }),
  ),
  permissions: Type.Optional(
    permissionList(`In place of all permissions and rules it has. ${flatPermissions}`),
  ),
  rules: Type.Optional(
    rules(
      'In place of all permissions and rules it has; not together with permissions. Without either, both stay.',
    ),
  ),
})
export type UpdateApplication = Static<typeof UpdateApplication>

export const CreateApiKey = body({
  expires_at: Type.Optional(
    text({ description: `When the key stops working; without it, never. ${expiryForms}` }),
  ),
})
export type CreateApiKey = Static<typeof CreateApiKey>

export const ExplainAccess = body({
  permission: choice(tokenPermissions, { description: 'The permission to ask about.' }),
  destination: Type.Optional(
    text({
      max: destinationCharactersMax,
      description: 'With token:use: the URL to which the value would be sent.',
    }),
  ),
  containers: Type.Optional(
    textList({
      items: text({ max: limits.containerCharactersMax }),
      min: 1,
      max: limits.containersPerToken,
      description: 'The containers of the token to ask about. Needed where no type is given.',
    }),
  ),
  type: Type.Optional(
    Type.Unsafe<string>({
      ...tokenTypeName,
      description: 'A type of token, which stands for its own container where no containers are given.',
    }),
  ),
})
export type ExplainAccess = Static<typeof ExplainAccess>

export const authorship = {
  created_by: Type.String({ format: 'uuid' }),
  created_at: Type.String({ format: 'date-time' }),
  modified_by: Type.Optional(Type.String({ format: 'uuid', examples: [] })),
  modified_at: Type.Optional(Type.String({ format: 'date-time', examples: [] })),
}

export const keyOfReplay = Type.Optional(
  Type.Object(
    { key: Type.String({ description: 'In a replay: where the key was shown.' }) },
    { examples: [] },
  ),
)

export const Application = Type.Object({
  id: Type.String({ format: 'uuid' }),
  tenant_id: Type.String({ format: 'uuid' }),
  name: Type.String({ examples: ['Support desk'] }),
  type: Type.String({ examples: ['private'] }),
  key: Type.Optional(Type.String({ description: 'Shown once, when it is made.', examples: [] })),
  permissions: Type.Optional(Type.Array(Type.String(), { examples: [[]] })),
  rules: Type.Optional(Type.Array(AccessRule)),
  ...authorship,
  _extras: keyOfReplay,
})

export const ApplicationPage = Type.Object({ pagination: Pagination, data: Type.Array(Application) })

export const ApiKey = Type.Object({
  id: Type.String({ format: 'uuid' }),
  key: Type.Optional(Type.String({ description: 'Shown once, when it is made.', examples: [] })),
  expires_at: Type.Optional(Type.String({ format: 'date-time' })),
  last_used_at: Type.Optional(Type.String({ format: 'date-time' })),
  created_by: Type.String({ format: 'uuid' }),
  created_at: Type.String({ format: 'date-time' }),
  _extras: keyOfReplay,
})

export const PermissionEntry = Type.Object({
  type: Type.String({ examples: ['token:read'] }),
  description: Type.String({ examples: ['Read and list tokens.'] }),
  application_types: Type.Array(Type.String({ examples: ['private'] })),
})

export const Explanation = Type.Object({
  application_id: Type.String({ format: 'uuid' }),
  permission: Type.String({ examples: ['token:read'] }),
  outcome: Type.String({ examples: ['mask'] }),
  reason: Type.String({ examples: ['The rule with priority 1 decides.'] }),
  containers: Type.Array(
    Type.Object({
      container: Type.String({ examples: ['/general/high/'] }),
      outcome: Type.String({ examples: ['mask'] }),
      reason: Type.String({ examples: ['The rule with priority 1 decides.'] }),
      rule: Type.Optional(AccessRule),
    }),
  ),
})
