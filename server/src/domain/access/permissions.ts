/** What each type of application may hold (C28). */
export const permissionsByType = {
  public: ['token:create', 'token:update'],
  private: ['token:create', 'token:read', 'token:update', 'token:delete', 'token:search'],
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
  ],
} as const

export type ApplicationType = keyof typeof permissionsByType
export type Permission = (typeof permissionsByType)[ApplicationType][number]
