import { join } from 'node:path'
import { openSqlite } from '../../src/store/sqlite/sqlite-store.ts'
import { storeContract } from './store-contract.ts'

storeContract('sqlite', folder => openSqlite({ path: join(folder, 'vault.db'), waitingMax: 24 }))
