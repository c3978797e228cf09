import { after, before, describe } from 'node:test'
import type { ServiceSettings } from '../../src/service.ts'
import { type Engine, engines, sqlite } from './engines.ts'
import { TestVault } from './test-vault.ts'

type Suite = (vault: () => TestVault) => void

/** A suite that runs once for each engine, on a vault of its own. */
export const onEveryEngine = (name: string, suite: Suite, settings: Partial<ServiceSettings> = {}): void => {
  for (const engine of engines) describeOn(engine, `${name} (${engine.name})`, suite, settings)
}

/** A suite that would show the same on any engine, for the reason that its name then gives. */
export const onSqliteAlone = (
  name: string,
  reason: string,
  suite: Suite,
  settings: Partial<ServiceSettings> = {},
): void => {
  if (engines.includes(sqlite)) describeOn(sqlite, `${name} (sqlite alone: ${reason})`, suite, settings)
}

const describeOn = (engine: Engine, name: string, suite: Suite, settings: Partial<ServiceSettings>): void => {
  describe(name, () => {
    let vault: TestVault
    before(async () => {
      vault = await TestVault.start({ engine, settings })
    })
    after(() => vault.stop())
    suite(() => vault)
  })
}
