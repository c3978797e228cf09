import type { Config } from '../../config/config.ts'
import type { ActKind } from '../../domain/acts/act.ts'
import { recordedForOperator } from '../../operations/log/acting.ts'
import { explain } from '../explain.ts'
import { devKeyFile } from '../key-providers/file.ts'
import { printNote } from '../print.ts'
import { withVault } from './with-vault.ts'

/**
 * Records what a command has done to files or to the schema. These commands need neither the keys nor a vault, and a record needs
 * both: where the settings name no key provider or no storage, there is none. What was done counts for more than its record, so a
 * vault whose disk is full can be backed up; the command then says that it left none.
 */
export const leaveRecord = async (config: Config, kind: ActKind): Promise<void> => {
  const isKeyless = config.keyProvider === undefined && devKeyFile(config) === undefined
  if (isKeyless || (config.dataFolder === undefined && config.database === undefined)) return
  try {
    await withVault(config, vault => recordedForOperator(vault, kind, async () => undefined))
  } catch (error) {
    printNote(kind.operation, `it is done, but left no record in the log: ${explain(error)}`)
  }
}
