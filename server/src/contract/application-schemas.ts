import { permissionsByType } from '../domain/access/permissions.ts'
import { limits } from '../domain/limits.ts'
import { Pagination } from './paging.ts'
import { body, choice, flag, nullableText, text, textList } from './schema.ts'
import { tokenTypeName } from './token-schemas.ts'
import { type Static, Type } from './type.ts'

const name = text({ min: 1, max: limits.nameCharactersMax })
const permissions = textList({ items: text(), max: limits.permissionsMax })
export const applicationType = choice(Object.keys(permissionsByType) as (keyof typeof permissionsByType)[])
const transform = choice(['reveal', 'mask', 'redact'])

/** C28. The domain decides which permissions and containers are allowed. */
export const AccessRule = body({
  description: Type.Optional(nullableText({ max: limits.nameCharactersMax })),
  priority: Type.Integer({ minimum: 0, maximum: limits.rulePriorityMax }),
  container: text({ max: limits.containerCharactersMax }),
  transform,
  permissions,
})

export const CreateApplication = body({
  name,
  type: applicationType,
  permissions: Type.Optional(permissions),
  rules: Type.Optional(Type.Array(AccessRule, { maxItems: limits.rulesPerApplication })),
  create_key: Type.Optional(flag()),
})
export type CreateApplication = Static<typeof CreateApplication>

export const UpdateApplication = body({
  name,
  type: Type.Optional(applicationType),
  permissions: Type.Optional(permissions),
  rules: Type.Optional(Type.Array(AccessRule, { maxItems: limits.rulesPerApplication })),
})
export type UpdateApplication = Static<typeof UpdateApplication>

export const CreateApiKey = body({ expires_at: Type.Optional(text()) })
export type CreateApiKey = Static<typeof CreateApiKey>

export const ExplainAccess = body({
  permission: choice(permissionsByType.private),
  containers: Type.Optional(
    textList({ items: text({ max: limits.containerCharactersMax }), min: 1, max: limits.containersPerToken }),
  ),
  type: Type.Optional(tokenTypeName),
})
export type ExplainAccess = Static<typeof ExplainAccess>

const authorship = {
  created_by: Type.String({ format: 'uuid' }),
  created_at: Type.String({ format: 'date-time' }),
  modified_by: Type.Optional(Type.String({ format: 'uuid' })),
  modified_at: Type.Optional(Type.String({ format: 'date-time' })),
}

const keyOfReplay = Type.Optional(
  Type.Object({ key: Type.String({ description: 'In a replay: where the key was shown.' }) }),
)

export const Application = Type.Object({
  id: Type.String({ format: 'uuid' }),
  tenant_id: Type.String({ format: 'uuid' }),
  name: Type.String(),
  type: Type.String(),
  key: Type.Optional(Type.String({ description: 'Shown once, when it is made.' })),
  permissions: Type.Optional(Type.Array(Type.String())),
  rules: Type.Optional(Type.Array(AccessRule)),
  ...authorship,
  _extras: keyOfReplay,
})

export const ApplicationPage = Type.Object({ pagination: Pagination, data: Type.Array(Application) })

export const ApiKey = Type.Object({
  id: Type.String({ format: 'uuid' }),
  key: Type.Optional(Type.String({ description: 'Shown once, when it is made.' })),
  expires_at: Type.Optional(Type.String({ format: 'date-time' })),
  last_used_at: Type.Optional(Type.String({ format: 'date-time' })),
  created_by: Type.String({ format: 'uuid' }),
  created_at: Type.String({ format: 'date-time' }),
  _extras: keyOfReplay,
})

export const PermissionEntry = Type.Object({
  type: Type.String(),
  description: Type.String(),
  application_types: Type.Array(Type.String()),
})

export const Explanation = Type.Object({
  application_id: Type.String({ format: 'uuid' }),
  permission: Type.String(),
  outcome: Type.String(),
  reason: Type.String(),
  containers: Type.Array(
    Type.Object({
      container: Type.String(),
      outcome: Type.String(),
      reason: Type.String(),
      rule: Type.Optional(AccessRule),
    }),
  ),
})
