import { ConfigError } from '../../config/config-error.ts'
import type { Run } from '../command.ts'
import { configuredOrDevKeyProvider } from '../key-providers/configured-key-provider.ts'
import { pasteable } from '../pasteable.ts'
import { print } from '../print.ts'
import { configuredStorage } from '../storage/configured-storage.ts'
import { leaveRecord } from '../storage/leave-record.ts'
import { openOrMake, requireMasterKeyBeforeMigration, requireVault } from '../storage/with-vault.ts'

export const migrate: Run = async ({ config, flags }) => {
  if (flags.status && flags.distribute)
    throw new ConfigError('--status changes nothing: leave out --distribute')
  const storage = configuredStorage(config)
  const keyProvider = () => configuredOrDevKeyProvider(config)
  if (flags.distribute) {
    const found = await storage.inspect()
    if (found !== undefined) await requireMasterKeyBeforeMigration(found, keyProvider)
    await storage.distribute()
  } else if (!flags.status) await (await openOrMake(storage, keyProvider)).store.close()
  if (!flags.status) await leaveRecord(config, { operation: 'migrate', entityType: 'tenant' })
  const { schema: state } = await requireVault(storage)
  const isNewer = state.current > state.newest
  const advice = isNewer
    ? '; a newer release has migrated it: install that release'
    : state.pending
      ? pasteable('; run strongroom migrate')
      : ''
  print(
    flags.json,
    state,
    `schema ${state.current}${isNewer ? `, this release knows ${state.newest}` : ` of ${state.newest}`}${state.distributed ? ', distributed' : ''}${advice}`,
  )
  return isNewer ? 1 : 0
}
