import { ConfigError } from '../../config/config-error.ts'
import type { DatabaseConfig } from '../../config/database-config.ts'
import { isOpenToOthers, readNamedFile } from '../../config/named-file.ts'
import { shellWord } from '../../domain/text/terminal.ts'
import type { PostgresSettings } from '../../store/postgres/postgres-store.ts'
import { serverDoctor } from '../doctor/server-doctor.ts'
import { holdsCertificates } from '../tls.ts'
import type { Storage } from './storage.ts'

export const serverStorage = (database: DatabaseConfig): Storage => {
  // Loaded on demand: the PostgreSQL client would slow a start of the embedded store by 30 ms.
  const engine = () => import('../../store/postgres/postgres-store.ts')
  const url = withoutPassword(database)
  return {
    name: url,
    flags: {
      'database-url': url,
      ...(database.passwordFile !== undefined && { 'database-password-file': database.passwordFile }),
      ...(database.caFile !== undefined && { 'database-ca': database.caFile }),
    },
    inspect: async () => {
      const { inspectPostgres } = await import('../../store/postgres/inspect.ts')
      return (await engine()).withClient(postgresSettings(database), inspectPostgres)
    },
    compareSchema: async () => {
      const { comparePostgresSchema } = await import('../../store/postgres/schema-parts.ts')
      return (await engine()).withClient(postgresSettings(database), comparePostgresSchema)
    },
    open: async ({ commits }, worker) =>
      (await engine()).openPostgres(postgresSettings(database), worker?.neighbours, commits),
    openForCommand: async () => (await engine()).openPostgres(postgresSettings(database)),
    distribute: async () => (await engine()).distributePostgres(postgresSettings(database)),
    doctor: serverDoctor,
  }
}

export const postgresSettings = ({ caFile, passwordFile, ...settings }: DatabaseConfig): PostgresSettings => {
  if (passwordFile !== undefined) requireSecretFile(passwordFile)
  return {
    ...settings,
    ...(passwordFile !== undefined && { passwordFile }),
    ...(caFile !== undefined && { ca: readCertificates(caFile) }),
  }
}

const readCertificates = (path: string): string => {
  const pem = readNamedFile(path)
  if (!holdsCertificates(pem)) throw new ConfigError(`${path} does not hold certificates (PEM)`)
  return pem
}

const requireSecretFile = (path: string): void => {
  readNamedFile(path)
  if (isOpenToOthers(path))
    throw new ConfigError(`${path} holds a password and is open to others: run chmod 600 ${shellWord(path)}`)
}

const withoutPassword = ({ address: { hosts, user, database, sslmode } }: DatabaseConfig): string => {
  const [first] = hosts
  const socket = first?.host.startsWith('/') ? `&host=${encodeURIComponent(first.host)}` : ''
  const list = hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',')
  return `postgres://${encodeURIComponent(user)}@${socket === '' ? list : `localhost:${first?.port}`}/${encodeURIComponent(database)}?sslmode=${sslmode}${socket}`
}
