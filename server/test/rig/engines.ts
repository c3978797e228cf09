import { join } from 'node:path'
import type { Store } from '../../src/store/port.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'

/** Every engine that the vault can stand on; suites run once for each. `folder` is the engine's to fill. */
export type Engine = { readonly name: string; readonly open: (folder: string) => Promise<Store> }

export const engines: readonly Engine[] = [
  { name: 'sqlite', open: async folder => openSqlite({ path: join(folder, 'vault.db') }) },
]
