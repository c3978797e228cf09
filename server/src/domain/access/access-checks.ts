import { VaultError } from '../errors.ts'
import { isBlind, type Token } from '../tokens/token.ts'
import type { Transform } from '../tokens/transform.ts'
import { coversEvery, shownByWrite, transformFor } from './access.ts'
import type { Application } from './application.ts'
import type { Permission } from './permissions.ts'

/** C28: a write needs a rule for every destination container. */
export const requireDestinations = (
  application: Application,
  permission: Permission,
  containers: readonly string[],
): void => {
  if (!coversEvery(application, permission, containers))
    throw new VaultError('forbidden', { detail: 'A target container is not writable by the application.' })
}

/** A token that no rule covers does not exist for the caller. One that is only partly covered is not theirs to change. */
export const requireCovered = (application: Application, permission: Permission, token: Token): void => {
  if (transformFor(application, permission, token.containers) === undefined) throw new VaultError('notFound')
  if (!coversEvery(application, permission, token.containers))
    throw new VaultError('forbidden', {
      detail: 'A container of the token is not writable by the application.',
    })
}

export const readTransform = (
  application: Application,
  containers: readonly string[],
): Transform | undefined => transformFor(application, 'token:read', containers)

/** C13: a blind mask or fingerprint shows nothing to a caller who cannot read the token. */
export const writeTransform = (application: Application, permission: Permission, token: Token): Transform =>
  isBlind(token) && readTransform(application, token.containers) === undefined
    ? 'redact'
    : shownByWrite(application, permission, token.containers)
