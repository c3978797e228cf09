import { after, before, describe } from 'node:test'
import { engines } from './engines.ts'
import { TestVault } from './test-vault.ts'

/** A suite that runs once for each engine, on a vault of its own. */
export const onEveryEngine = (name: string, suite: (vault: () => TestVault) => void): void => {
  for (const engine of engines)
    describe(`${name} (${engine.name})`, () => {
      let vault: TestVault
      before(async () => {
        vault = await TestVault.start({ engine })
      })
      after(() => vault.stop())
      suite(() => vault)
    })
}
