import about from '../../package.json' with { type: 'json' }
import { ConfigError } from '../config/config-error.ts'
import { warnOfUnknown, workerVariable } from '../config/settings.ts'
import { KeyProviderError } from '../crypto/key-provider.ts'
import { VaultError } from '../domain/errors.ts'
import { foreignCode } from '../domain/foreign-code.ts'
import { setLimits } from '../domain/limits.ts'
import { didYouMean } from '../domain/text/did-you-mean.ts'
import { StoreUnavailableError } from '../store/port.ts'
import { isDamage } from '../store/sqlite/failure-codes.ts'
import { type Command, invocation, usage } from './command.ts'
import { commandOf, commands } from './commands/registry.ts'
import { surviveClosedOutput } from './print.ts'

const overview = (listed: readonly Command[]): string => {
  const width = Math.max(...listed.map(({ name }) => name.length)) + 2
  const lines = listed.map(({ name, summary }) => `  ${name.padEnd(width)}${summary}\n`)
  return `Usage: strongroom <command>\n\n${lines.join('')}\nFor more: strongroom help <command>. Exit codes: 0 done, 1 failed, 2 wrong usage or settings.\n`
}

const main = async (args: readonly string[]): Promise<number> => {
  const [first] = args
  if (first === '--version' || first === '-v') {
    process.stdout.write(`${about.version}\n`)
    return 0
  }
  const words = first === 'help' ? args.slice(1) : args
  const wantsHelp = first === 'help' || args.includes('--help') || args.includes('-h')
  const command = commandOf(words)
  if (wantsHelp) {
    // Half a name, as in `strongroom tenant --help`, asks for all commands that start with it.
    const listed = commands.filter(({ name }) => name.startsWith(`${words[0]} `))
    process.stdout.write(command ? usage(command) : overview(listed.length > 0 ? listed : commands))
    return 0
  }
  if (command === undefined) {
    process.stderr.write(first === undefined ? overview(commands) : `strongroom: ${unknown(words)}\n`)
    return 2
  }
  try {
    const rest = words.slice(command.name.split(' ').length)
    const warning = warnOfUnknown(process.env)
    // A worker inherits the variables of its primary, which has already warned.
    if (warning !== undefined && process.env[workerVariable] === undefined)
      process.stderr.write(`strongroom: ${warning}\n`)
    const call = invocation(command, rest, process.env)
    setLimits(call.config.limits)
    return await command.run(call)
  } catch (error) {
    process.stderr.write(`strongroom ${command.name}: ${oneLine(explain(error))}\n`)
    return isWronglyCalled(error) ? 2 : 1
  }
}

const unknown = ([first = '', second = '']: readonly string[]): string => {
  const names = commands.map(({ name }) => name)
  const group = names.filter(name => name.startsWith(`${first} `))
  const firstWords = [...new Set(names.map(name => name.split(' ')[0] ?? name))]
  const whole = didYouMean(`${first} ${second}`.trim(), names)
  if (whole === '' && group.length > 0) return `which one: ${group.join(', ')}?`
  const hint = whole || didYouMean(first, firstWords)
  return `there is no such command${hint}; see strongroom help`
}

const isWronglyCalled = (error: unknown): boolean =>
  error instanceof ConfigError || (error instanceof VaultError && error.code === 'validation')

/** One line that says what to do; the operator's own settings and paths may be named. */
const explain = (error: unknown): string =>
  isDamage(error)
    ? `${reason(error)}; the file is damaged: strongroom doctor with the same settings says how to restore a backup`
    : reason(error)

const reason = (error: unknown): string => {
  if (error instanceof VaultError && error.issues.length > 0)
    return error.issues.map(({ path, message }) => `${flagOf(path)}${message}`).join('; ')
  if (error instanceof VaultError && error.code === 'notFound' && error.ownDetail === undefined)
    return 'the tenant has no such application or key'
  if (error instanceof VaultError) return asClause(error.message)
  if (error instanceof ConfigError || error instanceof KeyProviderError) return error.message
  if (error instanceof StoreUnavailableError && error.cause instanceof Error)
    return `${error.message}: ${lacksPassword(error.cause) ? passwordAdvice : error.cause.message}`
  if (error instanceof StoreUnavailableError) return `${error.message}: ${error.outage}`
  const listenFault = whyNotListening(error)
  if (listenFault !== undefined) return listenFault
  return error instanceof Error ? error.message : 'failed'
}

/** In Node's words these are `listen EADDRNOTAVAIL: …`; undefined if the error is about something else. */
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

/** To be pasted under `npm start`, where a flag needs `--` before it. */
const anotherPort = (taken: number): string =>
  process.env.npm_lifecycle_event === 'start'
    ? `run npm start -- --port ${taken < 65_535 ? taken + 1 : taken - 1}`
    : 'set --port'

const foreignSyscall = (error: unknown): string =>
  error instanceof Error && 'syscall' in error ? String(error.syscall) : ''

/** The place of an issue on the command line: a field is named as its flag, and `$`, the whole, is left out. */
const flagOf = (path: string): string =>
  path === '$' ? '' : `--${path.replace(/^\w+/, name => name.replaceAll('_', '-'))} `

/** A sentence of the API in the style of the messages here: no capital, no full stop. */
const asClause = (sentence: string): string =>
  `${sentence.slice(0, 1).toLowerCase()}${sentence.slice(1).replace(/\.$/, '')}`

/** The database client and servers that take plain passwords word a missing password differently. */
const lacksPassword = ({ message }: Error): boolean =>
  /client password must be a|empty password returned/.test(message)

const passwordAdvice =
  'the database asks for a password: set STRONGROOM_DATABASE_PASSWORD_FILE, or STRONGROOM_DATABASE_URL with a password in it'

const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, ' ')

surviveClosedOutput()
const code = await main(process.argv.slice(2))
process.exitCode ||= code
