import { openPostgres } from '../../src/store/postgres/postgres-store.ts'
import { databaseOf, settingsOf } from '../rig/postgres-databases.ts'
import { storeContract } from './store-contract.ts'

storeContract('postgres', async folder => openPostgres(settingsOf(await databaseOf(folder))))
