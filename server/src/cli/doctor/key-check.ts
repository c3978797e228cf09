import { existsSync } from 'node:fs'
import type { Config } from '../../config/config.ts'
import { KeyProviderError } from '../../crypto/key-provider.ts'
import { counted } from '../../domain/text/counted.ts'
import { countOlderWraps } from '../../operations/rewrap-keys.ts'
import { closedTo } from '../closed-file.ts'
import { masterKeyPath, requireDataFolder, setAsidePrefix } from '../data-folder.ts'
import { configuredOrDevKeyProvider } from '../key-provider.ts'
import { shellWord } from '../shell-word.ts'
import { withVault } from '../storage/with-vault.ts'
import { vaultFlags } from '../vault-flags.ts'
import type { Check } from './check.ts'
import { closedFinding, isFolder, isOpenToOthers } from './file-checks.ts'
import type { Finding } from './finding.ts'

export const keyProvider: Check = async ({ config }) => {
  try {
    await configuredOrDevKeyProvider(config).health()
    const older = await withVault(config, countOlderWraps)
    return older === 0 ? [] : [finishRotation(config, older)]
  } catch (error) {
    if (!(error instanceof KeyProviderError)) throw error
    return [repairMasterKey(config, error.message)]
  }
}

const finishRotation = (config: Config, older: number): Finding => ({
  check: 'keys',
  problem: `${counted(older, 'key')} in storage can be opened only with an older master key than the first`,
  command: `strongroom master-key rewrap ${vaultFlags(config)}`,
  blocks: false,
})

const repairMasterKey = (config: Config, problem: string): Finding => {
  const finding = (command: string): Finding => ({ check: 'keys', problem, command, blocks: true })
  if (config.keyProvider === 'env')
    return finding(`${keyBackup} && key=$(cat "$backup") && export STRONGROOM_MASTER_KEY="$key"`)
  const path = config.masterKeyFile ?? masterKeyPath(requireDataFolder(config))
  if (isFolder(path))
    return {
      check: 'keys',
      problem: `the master key file ${path} is a folder`,
      ...replaceFolder,
      blocks: true,
    }
  const closed = closedTo(path, 'read')
  if (closed !== undefined) return closedFinding('keys', closed)
  const key = shellWord(path)
  const close = `chmod 600 ${key}`
  const isThere = existsSync(path)
  if (isThere && isOpenToOthers(path)) return finding(close)
  // The key that is wrong here may be the right one of another vault.
  const keep = isThere ? `cp -p ${key} "$(mktemp ${shellWord(`${path}.${setAsidePrefix}XXXXXX`)})" && ` : ''
  return finding(`${keyBackup} && ls "$backup" && ${keep}cp "$backup" ${key} && ${close}`)
}

const keyBackup = 'backup=/path/to/your/master.key'

const replaceFolder = {
  byHand:
    'name the file inside it that holds the key; if it is empty, put the key in its place, with mode 600: Docker makes a folder where the source of a mount is not there, so put the file there before the container starts',
}
