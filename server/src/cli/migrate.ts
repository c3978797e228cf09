import type { Command } from './command.ts'
import { print } from './print.ts'
import { configuredStorage } from './storage.ts'

export const migrate: Command = {
  name: 'migrate',
  summary: 'Bring storage to the schema of this release, or say how far it is',
  flags: { status: 'change nothing, tell the schema', json: 'print JSON' },
  run: async ({ config, flags }) => {
    const storage = configuredStorage(config)
    if (flags.status !== true) await (await storage.open()).close()
    await storage.requireVault()
    const state = await storage.schema()
    print(
      flags.json,
      state,
      `schema ${state.current} of ${state.newest}${state.pending ? '; run strongroom migrate' : ''}`,
    )
    return 0
  },
}
