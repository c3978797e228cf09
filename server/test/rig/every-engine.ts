import { after, before, describe } from 'node:test'
import type { ServiceSettings } from '../../src/service.ts'
import { engines } from './engines.ts'
import { TestVault } from './test-vault.ts'

/** A suite that runs once for each engine, on a vault of its own. */
export const onEveryEngine = (
  name: string,
  suite: (vault: () => TestVault) => void,
  settings: Partial<ServiceSettings> = {},
): void => {
  for (const engine of engines)
    describe(`${name} (${engine.name})`, () => {
      let vault: TestVault
      before(async () => {
        vault = await TestVault.start({ engine, settings })
      })
      after(() => vault.stop())
      suite(() => vault)
    })
}
