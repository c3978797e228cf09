import { hashApiKey, newProxyKeyText } from '../../crypto/api-key.ts'
import { withoutKey } from '../../domain/access/application.ts'
import { proxyOf } from '../../domain/acts/grants.ts'
import { modifiedNow } from '../../domain/authorship.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { viewProxy } from '../../domain/proxies/proxy.ts'
import { proxyIn } from '../grants/load-grants.ts'
import { proxyRow } from '../grants/resource-rows.ts'
import { reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'
import { requireLending } from './require-lending.ts'

/** U18: a new key, which ends the one before at once. */
export const createProxyKey = (
  vault: Vault,
  caller: Caller,
  id: string,
  idempotent?: Idempotent,
): Promise<JsonObject> =>
  reviseTenant(
    vault,
    caller,
    grants => {
      const { resource: before } = proxyIn(grants, id, caller.act)
      requireLending(caller, grants, before)
      const proxy = {
        ...before,
        modifiedBy: caller.application.id,
        modifiedAt: modifiedNow(before, vault.clock()),
      }
      const key = newProxyKeyText()
      const row = proxyRow(vault.vaultKeys, grants.tenant.id, proxy, hashApiKey(vault.vaultKeys, key))
      const answer = { ...viewProxy(proxy), key }
      return {
        effects: [{ kind: 'putResource', row }],
        answer,
        kept: withoutKey(answer),
        record: { entityId: id, after: proxyOf(proxy) },
      }
    },
    idempotent,
  )
