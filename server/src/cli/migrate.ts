import { schemaState } from '../store/sqlite/migrate.ts'
import type { Command } from './command.ts'
import { databasePath, openDataFolder, requireDataFolder, requireVault } from './edge.ts'
import { print } from './print.ts'

export const migrate: Command = {
  name: 'migrate',
  summary: 'Bring storage to the schema of this release, or say how far it is',
  flags: { status: 'change nothing, tell the schema', json: 'print JSON' },
  run: async ({ config, flags }) => {
    const dataFolder = requireDataFolder(config)
    if (flags.status !== true) await openDataFolder(dataFolder).close()
    requireVault(dataFolder)
    const state = schemaState(databasePath(dataFolder))
    print(
      flags.json,
      state,
      `schema ${state.current} of ${state.newest}${state.pending ? '; run strongroom migrate' : ''}`,
    )
    return 0
  },
}
