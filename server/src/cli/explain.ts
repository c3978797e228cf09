import { ConfigError } from '../config/config-error.ts'
import { VaultError } from '../domain/errors.ts'
import { foreignCode } from '../domain/foreign-code.ts'
import { printable } from '../domain/text/terminal.ts'
import { KeyProviderError } from '../keys/key-provider.ts'
import { StoreUnavailableError } from '../store/port.ts'
import { isDamage } from '../store/sqlite/failure-codes.ts'
import { pasteable } from './pasteable.ts'

export const isWronglyCalled = (error: unknown): boolean =>
  error instanceof ConfigError || (error instanceof VaultError && error.code === 'invalidRequest')

/** One line that says what to do. It may name the operator's own settings and paths. */
export const explain = (error: unknown): string =>
  oneLine(
    pasteable(
      isDamage(error)
        ? `${reason(error)}; the file is damaged: strongroom doctor says how to restore a backup`
        : reason(error),
    ),
  )

const reason = (error: unknown): string => {
  if (error instanceof VaultError && error.issues.length > 0)
    return error.issues.map(({ path, message }) => `${flagOf(path)}${message}`).join('; ')
  if (error instanceof VaultError && error.code === 'notFound' && error.ownDetail === undefined)
    return 'the tenant has no such application or key: strongroom app list and strongroom key list show what it has'
  if (error instanceof VaultError && error.code === 'notFound')
    return `${asClause(error.message)}: strongroom tenant list shows those that there are`
  if (error instanceof VaultError) return asClause(error.message)
  if (error instanceof ConfigError || error instanceof KeyProviderError) return error.message
  if (error instanceof StoreUnavailableError && error.cause instanceof Error)
    return `${error.message}: ${lacksPassword(error.cause) ? passwordAdvice : withAdvice(error.cause)}`
  if (error instanceof StoreUnavailableError) return `${error.message}: ${error.outage}`
  const listenFault = whyNotListening(error)
  if (listenFault !== undefined) return listenFault
  return error instanceof Error ? error.message : 'failed'
}

/** Node words these errors as `listen EADDRNOTAVAIL: …`. Undefined for any other error. */
const whyNotListening = (error: unknown): string | undefined => {
  const {
    address = '',
    port = '',
    hostname = '',
  } = error as { address?: string; port?: number; hostname?: string }
  const place = `port ${port} of ${address}`
  switch (`${foreignSyscall(error)} ${foreignCode(error)}`) {
    case 'listen EADDRINUSE':
      return `${place} is taken: stop what uses it, or ${anotherPort(Number(port))}`
    case 'listen EACCES':
      return `this user may not open ${place}: set --port to one from 1024 on`
    case 'listen EADDRNOTAVAIL':
      return `${address} is no address of this machine: set --host to one, or to 0.0.0.0 for all`
    case 'getaddrinfo ENOTFOUND':
    case 'getaddrinfo EAI_AGAIN':
      return `the host ${hostname} cannot be found: set --host to an address of this machine`
    default:
      return undefined
  }
}

/** For pasting after `npm start`, where a flag needs `--` before it. */
const anotherPort = (taken: number): string => {
  const other = `--port ${taken < 65_535 ? taken + 1 : taken - 1}`
  return process.env.npm_lifecycle_event === 'start' ? `run npm start -- ${other}` : `add ${other}`
}

const foreignSyscall = (error: unknown): string =>
  error instanceof Error && 'syscall' in error ? String(error.syscall) : ''

/** The place of an issue on the command line: a field is named as its flag, and `$`, the whole, is left out. */
const flagOf = (path: string): string =>
  path === '$' ? '' : `--${path.replace(/^\w+/, name => name.replaceAll('_', '-'))} `

/** Rewrites a sentence of the API in the style of these messages: no capital, no full stop. */
const asClause = (sentence: string): string =>
  `${sentence.slice(0, 1).toLowerCase()}${sentence.slice(1).replace(/\.$/, '')}`

/** The database client words a missing password in one way, and servers that take plain passwords in another. */
const lacksPassword = ({ message }: Error): boolean =>
  /client password must be a|empty password returned/.test(message)

/** Repeats the words of the system or the database server, and adds what to do. */
const withAdvice = (cause: Error): string => {
  const advice = databaseAdvice[foreignCode(cause)]
  return advice === undefined ? cause.message : `${cause.message}: ${advice}`
}

const correctHost = 'correct the host in --database-url or STRONGROOM_DATABASE_URL'
const correctUser =
  'correct the user in --database-url or STRONGROOM_DATABASE_URL, or the password there or in STRONGROOM_DATABASE_PASSWORD_FILE'
const databaseAdvice: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    'start the database server, or correct host and port in --database-url or STRONGROOM_DATABASE_URL',
  ETIMEDOUT: `start the database server, let this machine through to it, or ${correctHost}`,
  EHOSTUNREACH: correctHost,
  ENOTFOUND: correctHost,
  EAI_AGAIN: correctHost,
  // The socket of a server on this machine.
  ENOENT: `start the database server, or ${correctHost}`,
  // From PostgreSQL: no such user or a wrong password, no access from here, no such database.
  '28P01': correctUser,
  '28000': `${correctUser}; pg_hba.conf of the server says who may come from where`,
  '3D000': 'make it with createdb, or correct the name at the end of the database URL',
}

const passwordAdvice =
  'the database asks for a password: set STRONGROOM_DATABASE_PASSWORD_FILE, or STRONGROOM_DATABASE_URL with a password in it'

/** An error may quote what is in storage, such as the purpose of a key that does not open. */
const oneLine = (text: string): string => printable(text.replace(/\s*\n\s*/g, ' '))

/** Writes one line to standard error that says why the command failed. Returns the exit code. */
export const reportFailure = (command: string, error: unknown): 1 | 2 => {
  process.stderr.write(`strongroom ${command}: ${explain(error)}\n`)
  return isWronglyCalled(error) ? 2 : 1
}
