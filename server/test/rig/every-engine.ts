import { after, before, describe } from 'node:test'
import type { ServiceSettings } from '../../src/service.ts'
import { anyEngine, type Engine, engines, sqlite } from './engines.ts'
import { isLong } from './long-run.ts'
import { TestVault } from './test-vault.ts'

type Suite = (vault: () => TestVault, aboveStorage: AboveStorage) => void

/**
 * Tests of a suite that no engine can influence, because storage is not asked or has one answer: what is refused before it, or
 * computed from what comes back. They run on one engine; the long run has them on every engine.
 */
type AboveStorage = (tests: () => void) => void

/** Runs a suite once for each engine, with a vault of its own. */
export const onEveryEngine = (name: string, suite: Suite, settings: Partial<ServiceSettings> = {}): void => {
  for (const engine of engines) describeOn(engine, `${name} (${engine.name})`, suite, settings)
}

/** Runs a suite on SQLite alone because other engines would show the same, for the reason that becomes part of its name. */
export const onSqliteAlone = (
  name: string,
  reason: string,
  suite: Suite,
  settings: Partial<ServiceSettings> = {},
): void => {
  if (engines.includes(sqlite)) describeOn(sqlite, `${name} (sqlite alone: ${reason})`, suite, settings)
}

/** Runs a suite on one engine, which is enough for the reason given; the long run has it on every engine. */
export const onOneEngine = (
  name: string,
  reason: string,
  suite: Suite,
  settings: Partial<ServiceSettings> = {},
): void => {
  for (const engine of anyEngine)
    describeOn(engine, `${name} (${engine.name}${isLong ? '' : ` alone: ${reason}`})`, suite, settings)
}

const describeOn = (engine: Engine, name: string, suite: Suite, settings: Partial<ServiceSettings>): void => {
  describe(name, () => {
    let vault: TestVault
    before(async () => {
      vault = await TestVault.start({ engine, settings })
    })
    after(() => vault.stop())
    suite(
      () => vault,
      tests => {
        if (isLong || engine === engines[0]) tests()
      },
    )
  })
}
