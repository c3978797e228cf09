import { describe } from 'node:test'
import { commitContract } from './contract/commits.ts'
import { leaseContract } from './contract/leases.ts'
import { queryContract } from './contract/queries.ts'
import type { OpenStore } from './contract/rig.ts'
import { upkeepContract } from './contract/upkeep.ts'

/** The whole promise of src/store/port.ts; every engine passes it. */
export const storeContract = (name: string, open: OpenStore): void => {
  describe(`store contract (${name})`, () => {
    commitContract(open)
    queryContract(open)
    upkeepContract(open)
    leaseContract(open)
  })
}
