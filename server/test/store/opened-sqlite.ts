import { join } from 'node:path'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { madeTenantLog } from '../rig/log-parts.ts'
import { temporaryFolder } from '../rig/temporary-folder.ts'
import { bytes, insertion, tokenRow } from './contract/rig.ts'

/** A store with one tenant, in a folder of its own. */
export const openedSqlite = async (options: Omit<Parameters<typeof openSqlite>[0], 'path'> = {}) => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'vault.db')
  const store = openSqlite({ path, ...options })
  const tenant = await store.createTenant(
    {
      id: 'one',
      sealed: bytes('one'),
      keys: [],
      applications: [],
      apiKeys: [],
    },
    madeTenantLog(),
  )
  const create = (id: string) => store.commit(insertion(tenant, [{ row: tokenRow(tenant, id), terms: [] }]))
  const close = async () => {
    await store.close()
    folder.remove()
  }
  return { path, store, tenant, create, close }
}
