import { describeError, type Log } from '../domain/log.ts'
import { rotateDataKeys } from '../operations/rotate-data-keys.ts'
import { sweepExpired } from '../operations/sweep-expired.ts'
import { sweepTransients } from '../operations/sweep-transients.ts'
import type { Vault } from '../operations/vault.ts'
import type { Job } from './clockwork.ts'

/** What the vault does by itself. */
export const upkeep = (vault: Vault, log: Log): Job[] => [
  {
    name: 'sweep-expired',
    run: async () => {
      const { purged, unreadable, locked } = await sweepExpired(vault)
      for (const error of unreadable) log.error(describeError(error), 'an expired token does not open')
      if (locked !== undefined) throw locked
      return { purged }
    },
  },
  { name: 'sweep-transients', run: async () => ({ purged: await sweepTransients(vault) }) },
  { name: 'rotate-data-keys', run: async () => ({ rotated: await rotateDataKeys(vault) }) },
]
