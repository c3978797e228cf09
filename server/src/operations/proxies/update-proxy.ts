import type { CreateProxy } from '../../contract/proxies/schemas.ts'
import { proxyOf } from '../../domain/acts/grants.ts'
import { modifiedNow } from '../../domain/authorship.ts'
import { type Issue, requireNone } from '../../domain/errors.ts'
import type { JsonObject } from '../../domain/json/json.ts'
import { type OutboundProxy, viewProxy } from '../../domain/proxies/proxy.ts'
import { defineProxy } from '../../domain/proxies/proxy-definition.ts'
import { type Grants, proxyIn } from '../grants/load-grants.ts'
import { proxyRow } from '../grants/resource-rows.ts'
import { type Revision, reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'
import { requireLending } from './require-lending.ts'

/** U18: replaces all but the key. */
export const updateProxy = async (
  vault: Vault,
  caller: Caller,
  id: string,
  body: CreateProxy,
  idempotent?: Idempotent,
): Promise<JsonObject> =>
  reviseTenant(
    vault,
    caller,
    grants => replaceProxy(vault, caller, grants, { id, fields: Object.keys(body), toBe: () => body }),
    idempotent,
  )

/** The change of a proxy to what `toBe` makes of it. */
export const replaceProxy = (
  vault: Vault,
  caller: Caller,
  grants: Grants,
  {
    id,
    fields,
    toBe,
  }: { id: string; fields: readonly string[]; toBe: (before: OutboundProxy) => CreateProxy },
): Revision<JsonObject> => {
  const { row, resource: before } = proxyIn(grants, id, caller.act)
  const issues: Issue[] = []
  const defined = defineProxy(toBe(before), before.configuration, vault.destinationPorts, issues)
  requireNone(issues)
  // A name lends nothing.
  if (fields.some(name => name !== 'name')) requireLending(caller, grants, defined)
  const proxy: OutboundProxy = {
    id,
    ...defined,
    createdBy: before.createdBy,
    createdAt: before.createdAt,
    modifiedBy: caller.application.id,
    modifiedAt: modifiedNow(before, vault.clock()),
  }
  return {
    effects: [{ kind: 'putResource', row: proxyRow(vault.vaultKeys, grants.tenant.id, proxy, row.hash) }],
    answer: viewProxy(proxy),
    record: { entityId: id, fields, before: proxyOf(before), after: proxyOf(proxy) },
  }
}
