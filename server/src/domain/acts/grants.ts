import type { Application } from '../access/application.ts'
import type { Tenant } from '../access/tenant.ts'
import type { JsonObject } from '../json/json.ts'

// What records show of a change of grants or settings, before and after. Names and descriptions may say anything, so they are left out.

export const grantsOf = ({ type, permissions, rules }: Application): JsonObject => ({
  type,
  ...(rules.length > 0
    ? {
        rules: rules.map(({ priority, container, transform, permissions: held }) => ({
          priority,
          container,
          transform,
          permissions: [...held],
        })),
      }
    : { permissions: [...permissions] }),
})

export const settingsOf = ({ settings, includedMonthlyActiveTokens }: Tenant): JsonObject => ({
  fingerprint_tokens: settings.fingerprintTokens,
  deduplicate_tokens: settings.deduplicateTokens,
  included_monthly_active_tokens: includedMonthlyActiveTokens,
})
