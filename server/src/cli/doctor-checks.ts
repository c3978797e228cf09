import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config-error.ts'
import { KeyProviderError } from '../crypto/key-provider.ts'
import { TamperedError } from '../domain/errors.ts'
import { permissionsByType } from '../domain/permissions.ts'
import { printable } from '../domain/printable.ts'
import { hasManagementKey } from '../operations/grants/grant-checks.ts'
import { loadGrants } from '../operations/grants/load-grants.ts'
import type { Look } from '../store/sql/look.ts'
import { type ClosedFile, closedTo } from './closed-file.ts'
import {
  checkDataFolder,
  closedFiles,
  databasePath,
  describeRemains,
  masterKeyPath,
  requireDataFolder,
  setAsidePrefix,
} from './data-folder.ts'
import type { Finding, Remedy } from './finding.ts'
import { configuredOrDevKeyProvider } from './key-provider.ts'
import type { Machine } from './machine.ts'
import { restoreStorage } from './restore-storage.ts'
import { shellWord } from './shell-word.ts'
import { isDamage } from './sqlite-failure.ts'
import { configuredStorage, withVault } from './storage.ts'
import { readTlsFiles } from './tls.ts'
import { storageFlags, vaultFlags } from './vault-flags.ts'

type Context = { readonly config: Config; readonly machine: Machine }
type Check = (context: Context) => Promise<Finding[]> | Finding[]

const openFilesMin = 1_024
const raiseOpenFiles = 'ulimit -n 65536'
const freeBytesMin = 256 * 1_048_576
const clockSlackMs = 300_000

/** All findings, up to the first that makes the rest unknowable. */
export const examine = async (context: Context): Promise<Finding[]> => {
  const findings: Finding[] = []
  for (const check of checks) {
    const found = await orDamage(context.config, async () => check(context))
    findings.push(...found)
    if (found.some(({ blocks }) => blocks)) break
  }
  return findings
}

/** Whatever a check looks at, it may be the one that comes upon a damaged page. */
export const orDamage = async (config: Config, look: () => Promise<Finding[]>): Promise<Finding[]> => {
  try {
    return await look()
  } catch (error) {
    if (!isDamage(error)) throw error
    const problem = `${databasePath(requireDataFolder(config))} is damaged (${causeOf(error)}): stop the server and restore a backup; what is there now is kept beside it`
    return [{ check: 'storage', problem, ...restoreStorage(config), blocks: true }]
  }
}

const causeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'failed'
  return error.cause instanceof Error ? causeOf(error.cause) : error.message
}

/** What serve would not start with. */
const tlsFiles: Check = ({ config }) => {
  try {
    readTlsFiles(config)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const byHand = 'correct the files, or --tls-cert, --tls-key and --tls-client-ca, which name them'
    return [{ check: 'tls', problem: error.message, byHand, blocks: false }]
  }
}

/** A link that leads nowhere shows nothing to anybody. */
const isOpenToOthers = (path: string): boolean =>
  ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0

const dataFolder: Check = ({ config }) => {
  if (config.database !== undefined) return []
  const folder = requireDataFolder(config)
  if (existsSync(folder)) checkDataFolder(folder)
  const remains = describeRemains(folder)
  if (remains !== undefined)
    return [
      {
        check: 'storage',
        problem: remains,
        byHand:
          'stop every process that works on the folder, and put vault.db back, from a backup if it is lost, or the rest away',
        blocks: true,
      },
    ]
  if (existsSync(databasePath(folder))) return []
  return [
    {
      check: 'storage',
      problem: `${folder} holds no vault yet`,
      command: `strongroom migrate --data ${shellWord(folder)}`,
      blocks: true,
    },
  ]
}

/** A file that this user cannot reach says nothing about what is in it. */
const fileAccess: Check = ({ config }) => {
  if (config.database !== undefined) return []
  return closedFiles(requireDataFolder(config)).map(closed => closedFinding('file permissions', closed))
}

const closedFinding = (check: string, { problem, advice, command }: ClosedFile): Finding => ({
  check,
  problem: command === undefined ? problem : `${problem}: ${advice}`,
  ...(command === undefined ? { byHand: advice } : { command }),
  blocks: true,
})

const fileModes: Check = ({ config }) => {
  if (config.database !== undefined) return []
  const folder = requireDataFolder(config)
  const finding = (path: string, mode: string): Finding => ({
    check: 'file permissions',
    problem: `${path} is open to others`,
    command: `chmod ${mode} ${shellWord(path)}`,
    blocks: false,
  })
  // Inside a closed folder nobody else reaches the files of the store, whatever their own mode.
  const secrets = readdirSync(folder)
    .filter(name => name.endsWith('.key') || name.endsWith('.json'))
    .map(name => join(folder, name))
  return [
    ...(isOpenToOthers(folder) ? [finding(folder, '700')] : []),
    ...secrets.filter(isOpenToOthers).map(path => finding(path, '600')),
  ]
}

const schema: Check = async ({ config }) => {
  const finding = (problem: string, remedy: Remedy): Finding[] => [
    { check: 'storage', problem, ...remedy, blocks: true },
  ]
  const storage = configuredStorage(config)
  let look: Look | undefined
  try {
    look = await storage.look()
  } catch (error) {
    if (isDamage(error)) throw error
    if (config.database === undefined)
      return finding(error instanceof Error ? error.message : 'the vault cannot be read', {
        byHand:
          'see whether --data names the folder that you mean, and whether the file can be read where it is',
      })
    return finding('the database does not answer, or not to this user', {
      byHand: 'start the database server, or correct address, user and password in STRONGROOM_DATABASE_URL',
    })
  }
  if (look === undefined)
    return finding(`${storage.name} holds no vault yet`, {
      command: `strongroom migrate ${storageFlags(config)}`,
    })
  const { current, newest, pending } = look.schema
  if (pending)
    return finding(`storage has schema ${current}, this release needs ${newest}`, {
      command: `strongroom migrate ${vaultFlags(config)}`,
    })
  if (current > newest)
    return finding(`storage has schema ${current}, this release knows ${newest}`, {
      byHand:
        'install the newer release again; this one can only serve a backup from before the newer one was started',
    })
  return []
}

/** What a restore leaves out when it is interrupted, and nobody misses until two rows are there where one belongs. */
const schemaParts: Check = async ({ config }) => {
  const { missing, foreign } = await configuredStorage(config).compareSchema()
  const finding = (problem: string, blocks: boolean): Finding => ({
    check: 'storage',
    problem,
    ...restoreStorage(config),
    blocks,
  })
  return [
    ...(missing.length > 0
      ? [finding(`the schema lacks what this release made: ${missing.join('; ')}`, false)]
      : []),
    ...(foreign.length > 0
      ? [finding(`the schema holds what no release made: ${printable(foreign.join('; '))}`, true)]
      : []),
  ]
}

const keyProvider: Check = async ({ config }) => {
  try {
    await configuredOrDevKeyProvider(config).health()
    await withVault(config, async () => undefined)
    return []
  } catch (error) {
    if (!(error instanceof KeyProviderError)) throw error
    return [repairMasterKey(config, error.message)]
  }
}

const repairMasterKey = (config: Config, problem: string): Finding => {
  const finding = (command: string): Finding => ({ check: 'keys', problem, command, blocks: true })
  if (config.keyProvider === 'env')
    return finding(`${keyBackup} && key=$(cat "$backup") && export STRONGROOM_MASTER_KEY="$key"`)
  const path = config.masterKeyFile ?? masterKeyPath(requireDataFolder(config))
  const closed = closedTo(path, 'read')
  if (closed !== undefined) return closedFinding('keys', closed)
  const key = shellWord(path)
  const close = `chmod 600 ${key}`
  const isThere = existsSync(path)
  if (isThere && isOpenToOthers(path)) return finding(close)
  // The wrong key here may be the right one of another vault.
  const keep = isThere ? `cp -p ${key} "$(mktemp ${shellWord(`${path}.${setAsidePrefix}XXXXXX`)})" && ` : ''
  return finding(`${keyBackup} && ls "$backup" && ${keep}cp "$backup" ${key} && ${close}`)
}

const keyBackup = 'backup=/path/to/your/master.key'

/** Expiry and the cvc's hour follow this machine's clock; one that is behind keeps what should be gone. */
const clock: Check = ({ config, machine }) =>
  withVault(config, async vault => {
    const newest = await vault.store.newestTokenAt()
    if (newest === undefined || newest <= machine.now() + clockSlackMs) return []
    return [
      {
        check: 'clock',
        problem:
          'storage holds tokens from the future: the clock of this machine is behind, or another node is ahead',
        byHand: `compare "date -u" on every node with a clock that you trust, and set the one that is wrong; where that was another node, this ends by itself at ${new Date(newest - clockSlackMs).toISOString()}`,
        blocks: false,
      },
    ]
  })

/** Each connection is an open file. */
const openFiles: Check = ({ machine }) => {
  const max = machine.openFilesMax()
  if (max >= openFilesMin) return []
  return [
    {
      check: 'limits',
      problem: `only ${max} files may be open at once, and each connection is one`,
      blocks: false,
      // Where the shell may, it must be the one that starts the server.
      ...(machine.obeys(raiseOpenFiles)
        ? { command: raiseOpenFiles }
        : {
            byHand:
              'raise the limit for whatever starts the server: LimitNOFILE=65536 in its systemd unit, --ulimit nofile=65536 for its container, or nofile in /etc/security/limits.conf',
          }),
    },
  ]
}

const freeSpace: Check = ({ config, machine }) => {
  if (config.database !== undefined) return []
  const folder = requireDataFolder(config)
  if (machine.freeBytes(folder) >= freeBytesMin) return []
  return [
    {
      check: 'limits',
      problem: `less than ${freeBytesMin / 1_048_576} MiB are free where the data is: delete what is not the vault's, or stop the server, move the folder and start it with --data there`,
      command: `disk=/path/to/a/larger/disk && ls -d "$disk" && mv ${shellWord(folder)} "$disk"`,
      blocks: false,
    },
  ]
}

const access: Check = async context => {
  try {
    return await managementKeys(context)
  } catch (error) {
    if (!(error instanceof TamperedError)) throw error
    return [{ check: 'access', problem: error.message, ...restoreStorage(context.config), blocks: true }]
  }
}

const managementKeys = ({ config, machine }: Context): Promise<Finding[]> =>
  withVault(config, async vault => {
    const now = machine.now()
    const findings: Finding[] = []
    for (const { tenant, id } of await vault.store.listTenants()) {
      const { grants } = await loadGrants(vault, { tenantNumber: tenant, tenant: { id } })
      if (!hasManagementKey(grants, now))
        findings.push({
          check: 'access',
          problem: `tenant ${id} has no living management key`,
          command: `strongroom app create ${vaultFlags(config)} --tenant ${id} --name management --type management --permissions ${permissionsByType.management.join(',')}`,
          blocks: false,
        })
    }
    return findings
  })

const checks: readonly Check[] = [
  tlsFiles,
  dataFolder,
  fileAccess,
  fileModes,
  schema,
  schemaParts,
  keyProvider,
  clock,
  openFiles,
  freeSpace,
  access,
]
