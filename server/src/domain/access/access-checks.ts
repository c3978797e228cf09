import { VaultError } from '../errors.ts'
import type { Token } from '../tokens/token.ts'
import { coversEvery } from './access.ts'
import type { Application } from './application.ts'
import type { Permission } from './permissions.ts'
import { transformFor } from './transforms.ts'

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
