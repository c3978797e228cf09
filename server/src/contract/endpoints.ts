import { applicationEndpoints } from './applications/endpoints.ts'
import { findingEndpoints } from './finding/endpoints.ts'
import { keyEndpoints } from './keys/endpoints.ts'
import { logEndpoints } from './log/endpoints.ts'
import { serviceEndpoints } from './service/endpoints.ts'
import { tenantEndpoints } from './tenants/endpoints.ts'
import { tokenEndpoints } from './tokens/endpoints.ts'

/** Every endpoint of the vault, declared by resource. */
export const endpoints = {
  ...tokenEndpoints,
  ...findingEndpoints,
  ...tenantEndpoints,
  ...applicationEndpoints,
  ...keyEndpoints,
  ...logEndpoints,
  ...serviceEndpoints,
}

export type EndpointId = keyof typeof endpoints
