import type { CreateProxy } from '../../contract/proxies/schemas.ts'
import { hashApiKey, newProxyKeyText } from '../../crypto/api-key.ts'
import { newUuid } from '../../crypto/uuid.ts'
import { withoutKey } from '../../domain/access/application.ts'
import { proxyOf } from '../../domain/acts/grants.ts'
import { type Issue, invalid, requireNone } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { limits } from '../../domain/limits.ts'
import { type OutboundProxy, viewProxy } from '../../domain/proxies/proxy.ts'
import { defineProxy } from '../../domain/proxies/proxy-definition.ts'
import type { Grants } from '../grants/load-grants.ts'
import { proxyRow } from '../grants/resource-rows.ts'
import { type Revision, reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'
import { requireLending } from './require-lending.ts'

/** U18: creates a proxy with its key. Only this answer contains the text of the key. */
export const createProxy = async (
  vault: Vault,
  caller: Caller,
  body: CreateProxy,
  idempotent?: Idempotent,
): Promise<JsonObject> => {
  const issues: Issue[] = []
  const defined = defineProxy(body, {}, vault.destinationPorts, issues)
  requireNone(issues)
  const decide = (grants: Grants): Revision<JsonObject> => {
    requireLending(caller, grants, defined)
    if (grants.proxies.length >= limits.proxiesPerTenant)
      throw invalid({ path: '$', message: `the tenant has ${limits.proxiesPerTenant} proxies already` })
    const proxy: OutboundProxy = {
      id: newUuid(),
      ...defined,
      createdBy: caller.application.id,
      createdAt: vault.clock(),
    }
    const key = newProxyKeyText()
    const row = proxyRow(vault.vaultKeys, grants.tenant.id, proxy, hashApiKey(vault.vaultKeys, key))
    const answer = { ...viewProxy(proxy), key }
    return {
      effects: [{ kind: 'putResource', row }],
      answer,
      kept: withoutKey(answer),
      record: { entityId: proxy.id, after: proxyOf(proxy) },
    }
  }
  return reviseTenant(vault, caller, decide, idempotent)
}
