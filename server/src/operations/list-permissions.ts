import type { Json } from '../domain/json.ts'
import { type ApplicationType, type Permission, permissionsByType } from '../domain/permissions.ts'

const descriptions: Record<Permission, string> = {
  'token:create': 'Tokenize and create tokens',
  'token:read': 'Read and list tokens',
  'token:update': 'Update tokens',
  'token:delete': 'Delete tokens',
  'token:search': 'Search tokens',
  'tenant:read': 'Read the tenant',
  'tenant:update': 'Update the tenant',
  'tenant:delete': 'Delete the tenant',
  'application:create': 'Create applications',
  'application:read': 'Read applications, their keys and explanations',
  'application:update': 'Update applications, create and revoke their keys',
  'application:delete': 'Delete applications',
  'report:read': 'Read reports',
}

/** C29 */
export const listPermissions = (): Json =>
  (Object.keys(descriptions) as Permission[]).map(permission => ({
    type: permission,
    description: descriptions[permission],
    application_types: (Object.keys(permissionsByType) as ApplicationType[]).filter(type =>
      (permissionsByType[type] as readonly Permission[]).includes(permission),
    ),
  }))
