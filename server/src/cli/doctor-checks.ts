import { existsSync, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError } from '../config.ts'
import { KeyProviderError } from '../crypto/key-provider.ts'
import { permissionsByType } from '../domain/permissions.ts'
import { loadGrants } from '../operations/revise-tenant.ts'
import { schemaState } from '../store/sqlite/migrate.ts'
import { databasePath, keyProviderFor, requireDataFolder, withVault } from './edge.ts'

export type Finding = {
  readonly check: string
  readonly problem: string
  /** What to run next. */
  readonly command: string
  /** Later checks cannot say anything while this one stands. */
  readonly blocks: boolean
}

type Context = { readonly config: Config; readonly now: number }
type Check = (context: Context) => Promise<Finding[]> | Finding[]

const openFilesMin = 1_024
const freeBytesMin = 256 * 1_048_576
const clockSlackMs = 300_000

const dataFolder: Check = ({ config }) => {
  const folder = requireDataFolder(config)
  if (!existsSync(databasePath(folder)))
    return [
      {
        check: 'storage',
        problem: `${folder} holds no vault yet`,
        command: `strongroom migrate --data ${folder}`,
        blocks: true,
      },
    ]
  return []
}

const fileModes: Check = ({ config }) => {
  const folder = requireDataFolder(config)
  const isOpen = (path: string): boolean => (statSync(path).mode & 0o077) !== 0
  const finding = (path: string, mode: string): Finding => ({
    check: 'file permissions',
    problem: `${path} is open to others`,
    command: `chmod ${mode} ${path}`,
    blocks: false,
  })
  // Inside a closed folder nobody else reaches the files of the store, whatever their own mode.
  const secrets = readdirSync(folder)
    .filter(name => name.endsWith('.key') || name.endsWith('.json'))
    .map(name => join(folder, name))
  return [
    ...(isOpen(folder) ? [finding(folder, '700')] : []),
    ...secrets.filter(isOpen).map(path => finding(path, '600')),
  ]
}

const schema: Check = ({ config }) => {
  const folder = requireDataFolder(config)
  const { current, newest, pending } = schemaState(databasePath(folder))
  if (!pending) return []
  return [
    {
      check: 'storage',
      problem: `storage has schema ${current}, this release needs ${newest}`,
      command: `strongroom migrate --data ${folder}`,
      blocks: true,
    },
  ]
}

const keyProvider: Check = async ({ config }) => {
  const finding = (problem: string, command: string): Finding[] => [
    { check: 'keys', problem, command, blocks: true },
  ]
  try {
    await keyProviderFor(config).health()
    await withVault(config, async () => undefined)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return finding(error.message, 'strongroom doctor --help')
    if (!(error instanceof KeyProviderError)) throw error
    const path = config.masterKeyFile ?? join(requireDataFolder(config), 'master.key')
    if (existsSync(path) && (statSync(path).mode & 0o077) !== 0)
      return finding(error.message, `chmod 600 ${path}`)
    return finding(error.message, `cp <your backup of the master key> ${path} && chmod 600 ${path}`)
  }
}

/** Expiry and the cvc's hour follow this machine's clock; one that is behind keeps what should be gone. */
const clock: Check = ({ config, now }) =>
  withVault(config, async vault => {
    const newest = await vault.store.newestTokenAt()
    if (newest === undefined || newest <= now + clockSlackMs) return []
    return [
      {
        check: 'clock',
        problem:
          'storage holds tokens from the future: the clock of this machine is behind, or another node is ahead',
        command: 'timedatectl set-ntp true',
        blocks: false,
      },
    ]
  })

const processLimits: Check = ({ config }) => {
  const findings: Finding[] = []
  const openFiles = openFilesLimit()
  if (openFiles < openFilesMin)
    findings.push({
      check: 'limits',
      problem: `only ${openFiles} files may be open at once; each connection is one`,
      command: 'ulimit -n 65536',
      blocks: false,
    })
  const folder = requireDataFolder(config)
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize < freeBytesMin)
    findings.push({
      check: 'limits',
      problem: `less than ${freeBytesMin / 1_048_576} MiB are free where the data is`,
      command: `df -h ${folder}`,
      blocks: false,
    })
  return findings
}

/** Node raises its soft limit to the hard one, so the hard one counts; elsewhere than on Linux it is not told. */
const openFilesLimit = (): number => {
  try {
    const [, , hard] =
      /^Max open files\s+(\S+)\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return hard === undefined || hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

const managementKeys: Check = ({ config, now }) =>
  withVault(config, async vault => {
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
          command: `strongroom app create --data ${config.dataFolder} --tenant ${id} --name management --type management --permissions ${permissionsByType.management.join(',')}`,
          blocks: false,
        })
    }
    return findings
  })

export const checks: readonly Check[] = [
  dataFolder,
  fileModes,
  schema,
  keyProvider,
  clock,
  processLimits,
  managementKeys,
]
