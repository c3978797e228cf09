import type { ActKind } from '../../domain/acts/act.ts'
import { counted } from '../../domain/text/terminal.ts'
import { addMasterKey } from '../../keys/file/add-master-key.ts'
import { readMasterKeyFile, retiredKeysPath } from '../../keys/file/read-master-key-file.ts'
import { retireMasterKeys } from '../../keys/file/retire-master-keys.ts'
import { recordedForOperator } from '../../operations/log/acting.ts'
import { countOlderWraps, rewrapKeys } from '../../operations/maintenance/rewrap-keys.ts'
import type { Run } from '../command.ts'
import { keyProviderKind } from '../key-providers/configured-key-provider.ts'
import { pasteable } from '../pasteable.ts'
import { print, printNote, printText } from '../print.ts'
import { leaveRecord } from '../storage/leave-record.ts'
import { withVault } from '../storage/with-vault.ts'

/**
 * A rotation has three steps, because between them the operator must bring the file to every machine. Until that is done, a
 * machine cannot open what was wrapped after the first step: the keys of a new tenant, or a new data key.
 */
export const masterKeyAdd: Run = async ({ config }) => {
  const path = keyProviderKind(config).requireMasterKeyFile(config)
  addMasterKey(path)
  await leaveRecord(config, { operation: 'master-key add', entityType: 'key' })
  printText(
    pasteable(
      `a new master key is in ${path}, above the old one; keep a copy apart from the data. Next: copy the file to every machine that has it, then run strongroom master-key rewrap`,
    ),
  )
  return 0
}

export const masterKeyRewrap: Run = ({ config, flags }) =>
  withVault(config, async vault => {
    const kind: ActKind = { operation: 'master-key rewrap', entityType: 'key' }
    const { isShredded, ...done } = await recordedForOperator(vault, kind, async act => {
      const made = await rewrapKeys(vault)
      act.says({ count: made.rewrapped })
      return made
    })
    const text = `${counted(done.rewrapped, 'key')} wrapped with the new master key, ${done.current} already`
    print(flags.json, done, text)
    if (!isShredded)
      printNote(
        'master-key rewrap',
        'their old forms are still in the log, because another program reads; the next sweep of a server removes them',
      )
    return 0
  })

export const masterKeyRetire: Run = ({ config }) =>
  withVault(config, async vault => {
    const path = keyProviderKind(config).requireMasterKeyFile(config)
    const kind: ActKind = { operation: 'master-key retire', entityType: 'key' }
    const retired = await recordedForOperator(vault, kind, async act => {
      const known = readMasterKeyFile(path)
      const older = await countOlderWraps(vault)
      if (older > 0)
        throw new Error(
          `storage has ${counted(older, 'key')} under an older master key: run strongroom master-key rewrap first`,
        )
      const count = retireMasterKeys(path, known)
      act.says({ count })
      return count
    })
    printText(
      retired === 0
        ? `${path} holds no older master key`
        : `${counted(retired, 'older master key')} moved to ${retiredKeysPath(path)}: keep it, apart from the data, as long as you keep backups from before`,
    )
    return 0
  })
