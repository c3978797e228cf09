import { ConfigError } from '../config.ts'
import type { Run } from './command.ts'
import { print } from './print.ts'
import { configuredStorage } from './storage.ts'

export const migrate: Run = async ({ config, flags }) => {
  if (flags.status && flags.distribute)
    throw new ConfigError('--status changes nothing: leave out --distribute')
  const storage = configuredStorage(config)
  if (flags.distribute) await storage.distribute()
  else if (!flags.status) await (await storage.open()).close()
  await storage.requireVault()
  const state = await storage.schema()
  print(
    flags.json,
    state,
    `schema ${state.current} of ${state.newest}${state.distributed ? ', distributed' : ''}${state.pending ? '; run strongroom migrate' : ''}`,
  )
  return 0
}
