import { invalid, VaultError } from '../../domain/errors.ts'
import type { OutboundProxy } from '../../domain/proxies/proxy.ts'
import type { Grants } from '../grants/load-grants.ts'
import type { Caller } from '../vault/vault.ts'

/**
 * A proxy with an application lends its rights to whoever has the proxy's key. So whoever decides where such a proxy sends tokens, or
 * who has its key, needs the permission to hand out those rights anyway (U18).
 */
export const requireLending = (
  { application }: Caller,
  { applications }: Grants,
  { applicationId }: Pick<OutboundProxy, 'applicationId'>,
): void => {
  if (applicationId === undefined) return
  if (!application.permissions.includes('application:update'))
    throw new VaultError('forbidden', {
      detail:
        'The proxy names an application, whose rights it lends: this needs the permission application:update, too.',
    })
  if (!applications.some(({ id, type }) => id === applicationId && type === 'private'))
    throw invalid({
      path: 'application.id',
      message: 'is not the id of a private application of this tenant',
    })
}
