import { permissionsByType } from '../domain/access/permissions.ts'
import type { ApplicationWish } from '../operations/tenants/create-tenant.ts'

export type KeyName = 'api_key' | 'private_api_key' | 'management_api_key'

/** The file that C34 promises, and what `tenant create --json` prints. */
export type StarterKeys = { readonly base_url: string; readonly tenant_id: string } & Readonly<
  Record<KeyName, string>
>

/** The three applications that a tenant starts with (C34). */
export const starterApplications: readonly ApplicationWish<KeyName>[] = [
  {
    key: 'api_key',
    name: 'general',
    type: 'private',
    permissions: ['token:create', 'token:update'],
    rules: [],
  },
  {
    key: 'private_api_key',
    name: 'private',
    type: 'private',
    permissions: [],
    rules: [
      {
        description: 'Reads everything',
        priority: 1,
        container: '/',
        transform: 'reveal',
        permissions: ['token:read', 'token:delete', 'token:search'],
      },
    ],
  },
  {
    key: 'management_api_key',
    name: 'management',
    type: 'management',
    permissions: permissionsByType.management,
    rules: [],
  },
]
