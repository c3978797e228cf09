import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { KeyProviderError } from '../crypto/key-provider.ts'
import { TamperedError } from '../domain/errors.ts'
import { permissionsByType } from '../domain/permissions.ts'
import { loadGrants } from '../operations/grants/load-grants.ts'
import type { SchemaState } from '../store/sql/migration.ts'
import { checkDataFolder, databasePath, masterKeyPath, requireDataFolder } from './data-folder.ts'
import { configuredOrDevKeyProvider } from './key-provider.ts'
import type { Machine } from './machine.ts'
import { shellWord } from './shell-word.ts'
import { configuredStorage, withVault } from './storage.ts'

export type Finding = {
  readonly check: string
  readonly problem: string
  /** Later checks cannot say anything while this one stands. */
  readonly blocks: boolean
} & Remedy

/** What to run next, as it can be pasted, or what to do where no command would do it. */
type Remedy = { readonly command: string } | { readonly byHand: string }

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
    const found = await check(context)
    findings.push(...found)
    if (found.some(({ blocks }) => blocks)) break
  }
  return findings
}

const isOpenToOthers = (path: string): boolean => (statSync(path).mode & 0o077) !== 0

export const restoreStorage = (config: Config): string => {
  if (config.database !== undefined) {
    const url = configuredStorage(config).flags['database-url'] ?? ''
    return `pg_restore --clean --if-exists --dbname ${shellWord(url)} <your backup of the database>`
  }
  const path = databasePath(requireDataFolder(config))
  const file = shellWord(path)
  return `cp <your backup of vault.db> ${file} && rm -f ${shellWord(`${path}-wal`)} ${shellWord(`${path}-shm`)}`
}

const storageFlags = (config: Config): string =>
  Object.entries(configuredStorage(config).flags)
    .map(([name, value]) => `--${name} ${shellWord(value)}`)
    .join(' ')

/** The settings of this vault as flags, without any secret. */
export const vaultFlags = (config: Config): string =>
  [
    storageFlags(config),
    ...(config.keyProvider === undefined ? [] : [`--key-provider ${config.keyProvider}`]),
    ...(config.masterKeyFile === undefined ? [] : [`--master-key-file ${shellWord(config.masterKeyFile)}`]),
  ].join(' ')

const dataFolder: Check = ({ config }) => {
  if (config.database !== undefined) return []
  const folder = requireDataFolder(config)
  if (existsSync(folder)) checkDataFolder(folder)
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
  const finding = (problem: string, command: string): Finding[] => [
    { check: 'storage', problem, command, blocks: true },
  ]
  let state: SchemaState
  try {
    state = await configuredStorage(config).schema()
  } catch (error) {
    if (config.database !== undefined)
      return [
        {
          check: 'storage',
          problem: 'the database does not answer, or not to this user',
          byHand:
            'start the database server, or correct address, user and password in STRONGROOM_DATABASE_URL',
          blocks: true,
        },
      ]
    return finding(
      `${databasePath(requireDataFolder(config))} cannot be read (${error instanceof Error ? error.message : 'failed'}): stop the server and restore it`,
      restoreStorage(config),
    )
  }
  const { current, newest, pending } = state
  if (pending)
    return finding(
      `storage has schema ${current}, this release needs ${newest}`,
      `strongroom migrate ${storageFlags(config)}`,
    )
  if (current > newest)
    return finding(
      `storage has schema ${current}, this release knows ${newest}: install the newer release again, or go back to what it started from`,
      restoreStorage(config),
    )
  return []
}

const keyProvider: Check = async ({ config }) => {
  try {
    await configuredOrDevKeyProvider(config).health()
    await withVault(config, async () => undefined)
    return []
  } catch (error) {
    if (!(error instanceof KeyProviderError)) throw error
    return [{ check: 'keys', problem: error.message, command: mendMasterKey(config), blocks: true }]
  }
}

const mendMasterKey = (config: Config): string => {
  if (config.keyProvider === 'env')
    return 'export STRONGROOM_MASTER_KEY="$(cat <your backup of the master key>)"'
  const path = config.masterKeyFile ?? masterKeyPath(requireDataFolder(config))
  const close = `chmod 600 ${shellWord(path)}`
  return existsSync(path) && isOpenToOthers(path)
    ? close
    : `cp <your backup of the master key> ${shellWord(path)} && ${close}`
}

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
      command: `mv ${shellWord(folder)} <a new folder on a larger disk>`,
      blocks: false,
    },
  ]
}

const access: Check = async context => {
  try {
    return await managementKeys(context)
  } catch (error) {
    if (!(error instanceof TamperedError)) throw error
    const command = restoreStorage(context.config)
    return [{ check: 'access', problem: error.message, command, blocks: true }]
  }
}

const managementKeys = ({ config, machine }: Context): Promise<Finding[]> =>
  withVault(config, async vault => {
    const now = machine.now()
    const findings: Finding[] = []
    for (const { tenant, id } of await vault.store.listTenants()) {
      const { grants } = await loadGrants(vault, tenant)
      const management = grants.applications.filter(({ type }) => type === 'management').map(app => app.id)
      const hasKey = grants.apiKeys.some(
        ({ row }) =>
          management.includes(row.applicationId) && (row.expiresAt === null || row.expiresAt > now),
      )
      if (!hasKey)
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
  dataFolder,
  fileModes,
  schema,
  keyProvider,
  clock,
  openFiles,
  freeSpace,
  access,
]
