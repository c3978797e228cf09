import { type ApplicationType, type Permission, permissionsByType } from '../../domain/access/permissions.ts'
import type { Json } from '../../domain/json/json.ts'

const descriptions: Record<Permission, string> = {
  'token:create': 'Tokenize and create tokens',
  'token:read': 'Read and list tokens',
  'token:update': 'Update tokens',
  'token:delete': 'Delete tokens',
  'token:search': 'Search tokens',
  'token:use': 'Have tokens sent to a destination by the proxy, without seeing them',
  'tenant:read': 'Read the tenant',
  'tenant:update': 'Update the tenant',
  'tenant:delete': 'Delete the tenant',
  'application:create': 'Create applications',
  'application:read': 'Read applications, their keys and explanations',
  'application:update': 'Update applications, create and revoke their keys',
  'application:delete': 'Delete applications',
  'report:read': 'Read reports',
  'log:read': 'Read and export the log',
  'proxy:create': 'Create proxies',
  'proxy:read': 'Read proxies, without their configuration',
  'proxy:update': 'Update proxies and replace their keys',
  'proxy:delete': 'Delete proxies',
  'webhook:create': 'Create webhooks',
  'webhook:read': 'Read webhooks and what could not be delivered',
  'webhook:update':
    'Update and test webhooks, replace their secrets and send again what could not be delivered',
  'webhook:delete': 'Delete webhooks',
  'event:read': 'Read the events of the tenant',
}

/** C29: all permissions, or those that an application of type `holder` may hold. */
export const listPermissions = (holder?: ApplicationType): Json =>
  (Object.keys(descriptions) as Permission[])
    .filter(permission => holder === undefined || mayHold(holder, permission))
    .map(permission => ({
      type: permission,
      description: descriptions[permission],
      application_types: (Object.keys(permissionsByType) as ApplicationType[]).filter(type =>
        mayHold(type, permission),
      ),
    }))

const mayHold = (type: ApplicationType, permission: Permission): boolean =>
  (permissionsByType[type] as readonly Permission[]).includes(permission)
