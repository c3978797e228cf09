import { TamperedError } from '../domain/errors.ts'
import type { Json } from '../domain/json.ts'
import { open, seal } from './aead.ts'
import type { VaultKeys } from './keys.ts'

/**
 * Rows that grant (tenants, applications, API keys) are sealed under a key that only the key provider can
 * unwrap: whoever writes the database still cannot widen a rule or let themselves in.
 */
export type GrantKind = 'tenant' | 'application' | 'api-key'

/** `identity` holds every plain column that the row is found or judged by. */
const grantContext = (kind: GrantKind, identity: readonly (string | number | null)[]): string =>
  JSON.stringify(['grant', kind, ...identity])

export const sealGrant = (
  keys: VaultKeys,
  kind: GrantKind,
  identity: readonly (string | number | null)[],
  grant: Json,
): Buffer => seal(keys.grants, 1, JSON.stringify(grant), grantContext(kind, identity))

export const openGrant = <T>(
  keys: VaultKeys,
  kind: GrantKind,
  identity: readonly (string | number | null)[],
  sealed: Uint8Array,
): T => {
  const text = open(keys.grants, sealed, grantContext(kind, identity))
  if (text === undefined) throw new TamperedError({ kind, id: String(identity[0]) })
  return JSON.parse(text.toString('utf8')) as T
}
