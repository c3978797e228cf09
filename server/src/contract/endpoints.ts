import { applicationEndpoints } from './applications/endpoints.ts'
import { deliveryEndpoints } from './deliveries/endpoints.ts'
import { eventEndpoints } from './events/endpoints.ts'
import { findingEndpoints } from './finding/endpoints.ts'
import { keyEndpoints } from './keys/endpoints.ts'
import { logEndpoints } from './log/endpoints.ts'
import { proxyEndpoints } from './proxies/endpoints.ts'
import { proxyingEndpoints } from './proxying/endpoints.ts'
import { serviceEndpoints } from './service/endpoints.ts'
import { tenantEndpoints } from './tenants/endpoints.ts'
import { tokenEndpoints } from './tokens/endpoints.ts'
import { useEndpoints } from './use/endpoints.ts'
import { webhookEndpoints } from './webhooks/endpoints.ts'

/** Every endpoint of the vault, declared by resource. */
export const endpoints = {
  ...tokenEndpoints,
  ...findingEndpoints,
  ...useEndpoints,
  ...tenantEndpoints,
  ...applicationEndpoints,
  ...keyEndpoints,
  ...proxyEndpoints,
  ...logEndpoints,
  ...eventEndpoints,
  ...deliveryEndpoints,
  ...webhookEndpoints,
  ...proxyingEndpoints,
  ...serviceEndpoints,
}

export type EndpointId = keyof typeof endpoints
