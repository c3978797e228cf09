import type { ApiKeyGrant, Application } from '../domain/access/application.ts'
import type { Tenant } from '../domain/access/tenant.ts'
import { TamperedError } from '../domain/tampered-error.ts'
import { open, type SealContext, seal } from './aead.ts'
import type { VaultKeys } from './keys.ts'

/**
 * Rows that grant access (tenants, applications, API keys) are sealed under a key that only the key provider can
 * unwrap. Write access to the database is therefore not enough to widen a rule or to get in.
 */
export type GrantOf = {
  readonly tenant: Tenant
  readonly application: Application
  readonly 'api-key': ApiKeyGrant
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
  return JSON.parse(text.toString('utf8')) as GrantOf[Kind]
}
