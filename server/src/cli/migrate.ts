import { ConfigError } from '../config/config-error.ts'
import type { Run } from './command.ts'
import { configuredOrDevKeyProvider } from './key-provider.ts'
import { print } from './print.ts'
import { configuredStorage } from './storage/configured-storage.ts'
import { openOrMake, requireMasterKeyBeforeMigration, requireVault } from './storage/with-vault.ts'

export const migrate: Run = async ({ config, flags }) => {
  if (flags.status && flags.distribute)
    throw new ConfigError('--status changes nothing: leave out --distribute')
  const storage = configuredStorage(config)
  const keyProvider = () => configuredOrDevKeyProvider(config)
  if (flags.distribute) {
    const look = await storage.look()
    if (look !== undefined) await requireMasterKeyBeforeMigration(look, keyProvider)
    await storage.distribute()
  } else if (!flags.status) await (await openOrMake(storage, keyProvider)).store.close()
  const { schema: state } = await requireVault(storage)
  print(
    flags.json,
    state,
    `schema ${state.current} of ${state.newest}${state.distributed ? ', distributed' : ''}${state.pending ? '; run strongroom migrate' : ''}`,
  )
  return 0
}
