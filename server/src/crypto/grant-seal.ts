import type { ApiKeyGrant, Application } from '../domain/access/application.ts'
import type { Tenant } from '../domain/access/tenant.ts'
import { parseStored } from '../domain/json/parse-json.ts'
import type { OutboundProxy } from '../domain/proxies/proxy.ts'
import { TamperedError } from '../domain/tampered-error.ts'
import type { Webhook, WebhookSecret } from '../domain/webhooks/webhook.ts'
import { open, type SealContext, seal } from './aead.ts'
import type { VaultKeys } from './keys.ts'

/**
 * Rows that grant access, or that say where values and events are sent (tenants, applications, API keys, proxies, webhooks), are sealed under a key that only the key provider can
 * unwrap. Write access to the database is therefore not enough to widen a rule, to get in or to lead data elsewhere.
 */
export type GrantOf = {
  readonly tenant: Tenant
  readonly application: Application
  readonly 'api-key': ApiKeyGrant
  readonly proxy: InTheClear<OutboundProxy, 'configuration', Readonly<Record<string, string>>>
  readonly webhook: InTheClear<
    Webhook,
    'secrets',
    readonly (Omit<WebhookSecret, 'value'> & { readonly value: string })[]
  >
}

/** Within its seal, what a resource keeps secret is text. */
type InTheClear<Resource, Name extends keyof Resource, Plain> = Omit<Resource, Name> & {
  readonly [Each in Name]: Plain
}

export type GrantKind = keyof GrantOf

/** Every plain column that the row is found or judged by. */
type GrantIdentity = SealContext

const grantContext = (kind: GrantKind, identity: GrantIdentity): SealContext => ['grant', kind, ...identity]

export const sealGrant = <Kind extends GrantKind>(
  keys: VaultKeys,
  kind: Kind,
  identity: GrantIdentity,
  grant: GrantOf[Kind],
): Buffer => seal(keys.grants, 1, JSON.stringify(grant), grantContext(kind, identity))

export const openGrant = <Kind extends GrantKind>(
  keys: VaultKeys,
  kind: Kind,
  identity: GrantIdentity,
  sealed: Uint8Array,
): GrantOf[Kind] => {
  const text = open(keys.grants, sealed, grantContext(kind, identity))
  if (text === undefined) throw new TamperedError({ kind, id: String(identity[0]) })
  return parseStored(text) as unknown as GrantOf[Kind]
}
