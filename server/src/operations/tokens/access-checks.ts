import { coversEvery, isMoreRevealing, shownByWrite, transformFor } from '../../domain/access.ts'
import type { Transform } from '../../domain/application.ts'
import { VaultError } from '../../domain/errors.ts'
import type { Permission } from '../../domain/permissions.ts'
import { steeredParts } from '../../domain/steering.ts'
import { isBlind, type Token } from '../../domain/token.ts'
import type { TokenPatch } from '../../domain/token-patch.ts'
import type { Caller } from '../vault.ts'

/** C28: a write needs a rule for every destination container. */
export const requireDestinations = (
  caller: Caller,
  permission: Permission,
  containers: readonly string[],
): void => {
  if (!coversEvery(caller.application, permission, containers))
    throw new VaultError('forbidden', { detail: 'The application may not write to every container named.' })
}

/** A token that no rule covers does not exist for the caller; one that is covered in part is not theirs to change. */
export const requireCovered = (caller: Caller, permission: Permission, token: Token): void => {
  if (transformFor(caller.application, permission, token.containers) === undefined)
    throw new VaultError('notFound')
  requireDestinations(caller, permission, token.containers)
}

export const readTransform = (caller: Caller, containers: readonly string[]): Transform | undefined =>
  transformFor(caller.application, 'token:read', containers)

/** C13: a blind mask or fingerprint shows nothing to a caller who cannot read the token. */
export const writeTransform = (caller: Caller, permission: Permission, token: Token): Transform =>
  isBlind(token) && readTransform(caller, token.containers) === undefined
    ? 'redact'
    : shownByWrite(caller.application, permission, token.containers)

/** C28: what a public application may change, whose keys leave the server. */
const publicFields: readonly (keyof TokenPatch)[] = ['data', 'metadata', 'expires_at']
/** C13: what decides how much of a token is shown, to whom, and how it is found. */
const guardedFields: readonly (keyof TokenPatch)[] = [
  'mask',
  'fingerprint_expression',
  'search_indexes',
  'containers',
]

/** British, because Americans put a comma before the last one. */
const listed = (type: 'conjunction' | 'disjunction') => new Intl.ListFormat('en-GB', { type })

export const requirePublicFields = (caller: Caller, patch: TokenPatch): void => {
  if (caller.application.type !== 'public') return
  for (const name of Object.keys(patch) as (keyof TokenPatch)[])
    if (!publicFields.includes(name))
      throw new VaultError('forbidden', {
        detail: `A public application may change only ${listed('conjunction').format(publicFields)}.`,
      })
}

/** C13: a caller who reads a token under `mask` or `redact` cannot change what that shows. */
export const requireGuardedFields = (caller: Caller, token: Token, patch: TokenPatch): void => {
  const read = readTransform(caller, token.containers)
  if (read === undefined || read === 'reveal') return
  for (const name of guardedFields)
    if (patch[name] !== undefined)
      throw new VaultError('forbidden', {
        detail: `Changing ${listed('disjunction').format(guardedFields)} needs reveal on the token.`,
      })
  if (steeredParts(token, patch).length > 0)
    throw new VaultError('forbidden', {
      detail: 'An expression of the token mixes this with data that stays; changing it needs reveal.',
    })
}

/** C13: whoever moves a token sees no more of it afterwards than before, by reading or in the answers to its writes. */
export const requireNoBetterLook = (caller: Caller, before: Token, after: Token): void => {
  const [read, readBefore] = [after, before].map(({ containers }) => readTransform(caller, containers))
  const [shown, shownBefore] = [after, before].map(({ containers }) =>
    shownByWrite(caller.application, 'token:update', containers),
  )
  if (
    isMoreRevealing(read, readBefore) ||
    (isMoreRevealing(shown, shownBefore) && isMoreRevealing(shown, readBefore))
  )
    throw new VaultError('forbidden', {
      detail: 'A move to these containers would show the caller more of the token than before.',
    })
}
