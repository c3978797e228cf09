/** What each type of application may hold (C28, U11, U18, E3). */
export const permissionsByType = {
  public: ['token:create', 'token:update'],
  private: [
    'token:create',
    'token:read',
    'token:update',
    'token:delete',
    'token:search',
    'token:use',
    'event:read',
  ],
  management: [
    'tenant:read',
    'tenant:update',
    'tenant:delete',
    'application:create',
    'application:read',
    'application:update',
    'application:delete',
    'report:read',
    'log:read',
    'proxy:create',
    'proxy:read',
    'proxy:update',
    'proxy:delete',
    'webhook:create',
    'webhook:read',
    'webhook:update',
    'webhook:delete',
    'event:read',
  ],
} as const

export type ApplicationType = keyof typeof permissionsByType
export type Permission = (typeof permissionsByType)[ApplicationType][number]

/** What an application may do with tokens; the others are about the whole tenant. */
export const tokenPermissions = [...permissionsByType.private].filter(
  permission => permission !== 'event:read',
)

/** Another name of `token:use`, which compatible services have for it (U11). */
export const otherNames: Readonly<Record<string, Permission>> = { 'proxy:invoke': 'token:use' }
