#!/usr/bin/env node
import { ConfigError, readConfig } from '../config.ts'
import { KeyProviderError } from '../crypto/key-provider.ts'
import { dev } from './dev.ts'

const usage = `Usage: strongroom <command>

  dev    run a vault on this machine with nothing to set up

Settings of dev: STRONGROOM_DATA (folder, default .strongroom), STRONGROOM_HOST (127.0.0.1),
STRONGROOM_PORT (8080), STRONGROOM_LOG_LEVEL (info), STRONGROOM_HEADER_PREFIX (SVC).
`

const commands: Readonly<Record<string, () => Promise<void>>> = {
  dev: () => dev(readConfig(process.env)),
}

const [name = '', ...rest] = process.argv.slice(2)
const command = Object.hasOwn(commands, name) ? commands[name] : undefined
if (name === '--help' || name === 'help' || rest.includes('--help')) process.stdout.write(usage)
else if (command === undefined) {
  process.stderr.write(usage)
  process.exitCode = 2
} else {
  try {
    await command()
  } catch (error) {
    process.stderr.write(`strongroom ${name}: ${explain(error)}\n`)
    process.exitCode = error instanceof ConfigError ? 2 : 1
  }
}

/** One line that says what to do; the operator's own settings and paths may be named. */
function explain(error: unknown): string {
  if (error instanceof ConfigError || error instanceof KeyProviderError) return error.message
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')
    return 'the port is taken: stop what uses it, or set STRONGROOM_PORT'
  return error instanceof Error ? error.message : 'failed'
}
