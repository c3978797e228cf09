import { describe } from 'node:test'
import { commitContract } from './contract/commits.ts'
import { deliveryContract } from './contract/deliveries.ts'
import { fairnessContract } from './contract/fairness.ts'
import { grantContract } from './contract/grants.ts'
import { idContract } from './contract/ids.ts'
import { leaseContract } from './contract/leases.ts'
import { logContract } from './contract/log.ts'
import { queryContract } from './contract/queries.ts'
import { queryModelContract } from './contract/query-model.ts'
import { resultContract } from './contract/results.ts'
import type { OpenStore } from './contract/rig.ts'
import { scanContract } from './contract/scans.ts'
import { signatureContract } from './contract/signatures.ts'
import { upkeepContract } from './contract/upkeep.ts'

/** The whole promise of src/store/port.ts; every engine passes it. */
export const storeContract = (name: string, open: OpenStore): void => {
  describe(`store contract (${name})`, () => {
    commitContract(open)
    fairnessContract(open)
    idContract(open)
    queryContract(open)
    queryModelContract(open)
    signatureContract(open)
    resultContract(open)
    deliveryContract(open)
    grantContract(open)
    scanContract(open)
    upkeepContract(open)
    leaseContract(open)
    logContract(open)
  })
}
