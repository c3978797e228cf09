import { ConfigError } from '../config.ts'
import type { Command } from './command.ts'
import { print } from './print.ts'
import { configuredStorage } from './storage.ts'

export const migrate: Command = {
  name: 'migrate',
  summary: 'Bring storage to the schema of this release, or say how far it is',
  flags: {
    status: 'change nothing, tell the schema',
    distribute: 'spread the rows of all tenants over the nodes of a Citus cluster; stop all servers first',
    json: 'print JSON',
  },
  run: async ({ config, flags }) => {
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
  },
}
