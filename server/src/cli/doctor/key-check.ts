import { existsSync, readFileSync } from 'node:fs'
import type { Config } from '../../config/config.ts'
import { fileKeyProviderWithRetired } from '../../crypto/file-key-provider.ts'
import { KeyProviderError } from '../../crypto/key-provider.ts'
import { readMasterKeyFile, retiredKeysPath } from '../../crypto/master-key-file.ts'
import { counted } from '../../domain/text/counted.ts'
import { countOlderWraps } from '../../operations/rewrap-keys.ts'
import { closedTo } from '../closed-file.ts'
import { masterKeyPath, requireDataFolder, setAsidePrefix } from '../data-folder.ts'
import { configuredOrDevKeyProvider, requireMasterKeyFile } from '../key-provider.ts'
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
    const retired = await countUnderRetired(config, older)
    if (retired > 0) return [bringBackRetired(config, retired)]
    if (older > 0) return [wrapAnew(config, older)]
    return endRotation(config)
  } catch (error) {
    if (!(error instanceof KeyProviderError)) throw error
    const retired = await countUnderRetired(config, 0)
    return [retired > 0 ? bringBackRetired(config, retired) : repairMasterKey(config, error.message)]
  }
}

/** How many keys in storage open only with a master key that a rotation has taken out of the file. */
const countUnderRetired = async (config: Config, older: number): Promise<number> => {
  if (config.keyProvider === 'env') return 0
  try {
    const provider = fileKeyProviderWithRetired(requireMasterKeyFile(config))
    return provider === undefined ? 0 : (await withVault(config, countOlderWraps, provider)) - older
  } catch (error) {
    if (!(error instanceof KeyProviderError)) throw error
    return 0
  }
}

/** Below the key that wraps: put in its place, they would wrap again what a rotation has brought under that key. */
const bringBackRetired = (config: Config, count: number): Finding => {
  const path = requireMasterKeyFile(config)
  const [key, retired] = [path, retiredKeysPath(path)].map(shellWord)
  const endLine = readFileSync(path, 'utf8').endsWith('\n') ? '' : `echo >> ${key} && `
  return {
    check: 'keys',
    problem: `storage is from before a rotation of the master key: ${counted(count, 'key')} in it can be opened only with what is in ${retiredKeysPath(path)}`,
    command: `${endLine}cat ${retired} >> ${key} && strongroom master-key rewrap ${vaultFlags(config)} && strongroom master-key retire ${vaultFlags(config)}`,
    blocks: true,
  }
}

const wrapAnew = (config: Config, older: number): Finding => ({
  check: 'keys',
  problem: `${counted(older, 'key')} in storage can be opened only with an older master key than the first`,
  command: `strongroom master-key rewrap ${vaultFlags(config)}`,
  blocks: false,
})

/** Not with the provider env: there, that doctor finds nothing is the sign to leave out the older key. */
const endRotation = (config: Config): Finding[] => {
  if (config.keyProvider === 'env') return []
  const path = requireMasterKeyFile(config)
  const { keys } = readMasterKeyFile(path)
  if (keys.length === 1) return []
  return [
    {
      check: 'keys',
      problem: `${path} still holds ${counted(keys.length - 1, 'older master key')}, though storage needs only the first`,
      command: `strongroom master-key retire ${vaultFlags(config)}`,
      blocks: false,
    },
  ]
}

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
