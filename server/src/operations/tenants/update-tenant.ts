import type { UpdateTenant } from '../../contract/tenants/schemas.ts'
import { type Tenant, viewTenant } from '../../domain/access/tenant.ts'
import { settingsOf } from '../../domain/acts/grants.ts'
import { modifiedNow } from '../../domain/authorship.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { sealTenant } from '../grants/grant-rows.ts'
import type { Grants } from '../grants/load-grants.ts'
import { type Revision, reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'

/** §4.8, C31: settings that are left out stay as they are. */
export const updateTenant = (
  vault: Vault,
  caller: Caller,
  body: UpdateTenant,
  idempotent?: Idempotent,
): Promise<JsonObject> => {
  const disablesEphemeral = flag(body.settings?.disable_ephemeral_proxy)
  const decide = ({ tenant }: Grants): Revision<JsonObject> => {
    const updated: Tenant = {
      ...tenant,
      name: body.name,
      settings: {
        fingerprintTokens: flag(body.settings?.fingerprint_tokens) ?? tenant.settings.fingerprintTokens,
        deduplicateTokens: flag(body.settings?.deduplicate_tokens) ?? tenant.settings.deduplicateTokens,
        ephemeralProxy:
          disablesEphemeral === undefined ? tenant.settings.ephemeralProxy === true : !disablesEphemeral,
      },
      modifiedBy: caller.application.id,
      modifiedAt: modifiedNow(tenant, vault.clock()),
    }
    return {
      effects: [{ kind: 'putTenant', sealed: sealTenant(vault.vaultKeys, updated) }],
      answer: viewTenant(updated),
      record: {
        entityId: tenant.id,
        fields: Object.keys(body),
        before: settingsOf(tenant),
        after: settingsOf(updated),
      },
    }
  }
  return reviseTenant(vault, caller, decide, idempotent)
}

const flag = (value: 'true' | 'false' | boolean | undefined): boolean | undefined =>
  value === undefined ? undefined : value === true || value === 'true'
