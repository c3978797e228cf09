#!/usr/bin/env node
import { ConfigError } from '../config.ts'
import { KeyProviderError } from '../crypto/key-provider.ts'
import { VaultError } from '../domain/errors.ts'
import { appCreate, appList } from './application.ts'
import { type Command, invocation, usage } from './command.ts'
import { dev } from './dev.ts'
import { doctor } from './doctor.ts'
import { keyCreate, keyList, keyRevoke } from './key.ts'
import { masterKey } from './master-key.ts'
import { migrate } from './migrate.ts'
import { serve } from './serve.ts'
import { tenantCreate, tenantDelete, tenantList } from './tenant.ts'

const commands: readonly Command[] = [
  dev,
  serve,
  migrate,
  tenantCreate,
  tenantList,
  tenantDelete,
  appCreate,
  appList,
  keyCreate,
  keyList,
  keyRevoke,
  masterKey,
  doctor,
]

const overview = (): string =>
  `Usage: strongroom <command>\n\n${commands
    .map(({ name, summary }) => `  ${name.padEnd(16)}${summary}\n`)
    .join(
      '',
    )}\nstrongroom <command> --help tells more. Exit codes: 0 done, 1 failed, 2 wrongly called or set up.\n`

const main = async (args: readonly string[]): Promise<number> => {
  const command = commands.find(({ name }) => {
    const words = name.split(' ')
    return words.every((word, index) => args[index] === word)
  })
  const wantsHelp = args.includes('--help') || args.includes('-h') || args[0] === 'help'
  if (command === undefined) {
    ;(wantsHelp ? process.stdout : process.stderr).write(overview())
    return wantsHelp ? 0 : 2
  }
  if (wantsHelp) {
    process.stdout.write(usage(command))
    return 0
  }
  try {
    const rest = args.slice(command.name.split(' ').length)
    return await command.run(invocation(command, rest, process.env))
  } catch (error) {
    process.stderr.write(`strongroom ${command.name}: ${explain(error)}\n`)
    return error instanceof ConfigError ? 2 : 1
  }
}

/** One line that says what to do; the operator's own settings and paths may be named. */
const explain = (error: unknown): string => {
  if (error instanceof VaultError && error.issues.length > 0)
    return error.issues.map(({ path, message }) => `${path} ${message}`).join('; ')
  if (error instanceof ConfigError || error instanceof KeyProviderError || error instanceof VaultError)
    return error.message
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') return 'the port is taken: stop what uses it, or set --port'
  if (code === 'EEXIST') return 'the file exists and is not overwritten'
  return error instanceof Error ? error.message : 'failed'
}

process.exitCode = await main(process.argv.slice(2))
