import { compileCheck } from '../../contract/check.ts'
import { CreateProxy } from '../../contract/proxies/schemas.ts'
import { type Issue, invalid } from '../../domain/errors.ts'
import { isJsonObject, type JsonObject } from '../../domain/json/json.ts'
import { mergePatch } from '../../domain/json/merge-patch.ts'
import { type OutboundProxy, viewProxy } from '../../domain/proxies/proxy.ts'
import { reviseTenant } from '../grants/revise-tenant.ts'
import type { Caller, Idempotent, Vault } from '../vault/vault.ts'
import { replaceProxy } from './update-proxy.ts'

const checkProxy = compileCheck(CreateProxy)

/** U18: changes what the patch names. Values of the configuration that it does not name stay. */
export const patchProxy = async (
  vault: Vault,
  caller: Caller,
  id: string,
  patch: JsonObject,
  idempotent?: Idempotent,
): Promise<void> => {
  await reviseTenant(
    vault,
    caller,
    grants => {
      const change = {
        id,
        fields: Object.keys(patch),
        toBe: (before: OutboundProxy) => patched(before, patch),
      }
      return { ...replaceProxy(vault, caller, grants, change), answer: null }
    },
    idempotent,
  )
}

/** The proxy as a body would ask for it, with the patch in it. Values that are not shown stand for themselves. */
const patched = (before: OutboundProxy, patch: JsonObject): CreateProxy => {
  const { id, created_by, created_at, modified_by, modified_at, ...fields } = viewProxy(before)
  const merged = mergePatch(fields, patch)
  const issues: Issue[] = []
  const body = isJsonObject(merged) ? checkProxy(merged, '', issues) : undefined
  if (body === undefined) throw invalid(...issues)
  return body
}
