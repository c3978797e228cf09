import { existsSync, readFileSync } from 'node:fs'
import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/config-error.ts'
import { isOpenToOthers } from '../../config/named-file.ts'
import { counted, shellWord } from '../../domain/text/terminal.ts'
import { fileKeyProvider, fileKeyProviderWithRetired } from '../../keys/file/file-key-provider.ts'
import { readMasterKeyFile, retiredKeysPath } from '../../keys/file/read-master-key-file.ts'
import { closedTo } from '../closed-file.ts'
import { devKeysPath, masterKeyPath, setAsidePrefix } from '../data-folder/paths.ts'
import { closedFinding, isFolder } from '../doctor/file-checks.ts'
import type { Finding } from '../doctor/finding.ts'
import { vaultFlags } from '../vault-flags.ts'
import { type KeyProviderKind, keyBackup } from './key-provider-kind.ts'

/** The master key is in a file of its own. */
export const file: KeyProviderKind = {
  open: config => {
    const path = masterKeyFile(config)
    if (path === undefined)
      throw new ConfigError(
        'the key provider file needs --master-key-file or STRONGROOM_MASTER_KEY_FILE; strongroom master-key --master-key-file <new file> makes a key',
      )
    return fileKeyProvider(path)
  },
  requireMasterKeyFile: config => requireMasterKeyFile(config),
  retired: config => {
    const path = requireMasterKeyFile(config)
    const provider = fileKeyProviderWithRetired(path)
    return provider && { provider, bringBack: count => bringBackRetired(config, path, count) }
  },
  endRotation: config => {
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
  },
  repair: (config, problem) => repair(requireMasterKeyFile(config), problem),
}

/** The folder of `strongroom dev` contains its own key file, so it is enough to name the folder. */
export const devKeyFile = ({ keyProvider, dataFolder }: Config): string | undefined => {
  if (keyProvider !== undefined || dataFolder === undefined) return undefined
  const path = masterKeyPath(dataFolder)
  return existsSync(path) || existsSync(devKeysPath(dataFolder)) ? path : undefined
}

/** A file named in the settings wins over the file in the folder. */
const masterKeyFile = (config: Config): string | undefined => config.masterKeyFile ?? devKeyFile(config)

const requireMasterKeyFile = (config: Config): string => {
  const path = masterKeyFile(config)
  if (path === undefined)
    throw new ConfigError(
      'the file of the master key is missing: set --master-key-file or STRONGROOM_MASTER_KEY_FILE',
    )
  return path
}

/** Below the key that wraps. In its place, they would wrap again the keys that a rotation has moved to that key. */
const bringBackRetired = (config: Config, path: string, count: number): Finding => {
  const [key, retired] = [path, retiredKeysPath(path)].map(shellWord)
  const endLine = readFileSync(path, 'utf8').endsWith('\n') ? '' : `echo >> ${key} && `
  return {
    check: 'keys',
    problem: `storage is from before a rotation of the master key: ${counted(count, 'key')} in it can be opened only with what is in ${retiredKeysPath(path)}`,
    command: `${endLine}cat ${retired} >> ${key} && strongroom master-key rewrap ${vaultFlags(config)} && strongroom master-key retire ${vaultFlags(config)}`,
    blocks: true,
  }
}

const repair = (path: string, problem: string): Finding => {
  const finding = (command: string): Finding => ({ check: 'keys', problem, command, blocks: true })
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

const replaceFolder = {
  byHand:
    'name the file inside it that holds the key; if it is empty, put the key in its place, with mode 600: Docker makes a folder where the source of a mount is not there, so put the file there before the container starts',
}
