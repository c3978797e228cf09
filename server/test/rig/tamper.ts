import type { SQLInputValue } from 'node:sqlite'
import { foreignCode } from '../../src/domain/foreign-code.ts'
import type { TestVault } from './test-vault.ts'
import { untilGrantsHeard } from './until-grants-heard.ts'

/** A statement by an attacker who can write to storage but holds none of its keys. */
export const tamper = async (vault: TestVault, sql: string, ...values: SQLInputValue[]): Promise<void> => {
  const { engine, folder } = vault
  await engine.reach(folder.path, sql, ...values)
  // Makes the vault forget its cached grants, so that the next request reads the rows again.
  await untilGrantsHeard(vault, async () => {
    await engine.reach(folder.path, 'UPDATE grants_epoch SET epoch = epoch + 1')
    // As the vault's own writes do, so that no test has to wait until nodes look again.
    if (engine.name !== 'sqlite') await engine.reach(folder.path, 'NOTIFY strongroom_grants')
  })
}

/** The engine's columns are typed and refuse a value of another type, so no attacker can put it there. */
export const isRefusedByType = (error: unknown): boolean =>
  ['22P02', '22003', '22021', '42804'].includes(foreignCode(error))
