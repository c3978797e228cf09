import about from '../../package.json' with { type: 'json' }
import { warnOfUnknown, workerVariable } from '../config/settings.ts'
import { setLimits } from '../domain/limits.ts'
import { didYouMean } from '../domain/text/did-you-mean.ts'
import { invocation } from './command.ts'
import { commandOf, commands } from './commands/registry.ts'
import { reportFailure } from './explain.ts'
import { overview, settingsHelp, settingsTopic, usage } from './help.ts'
import { asCalled, rememberCall } from './pasteable.ts'
import { surviveClosedOutput } from './print.ts'

/** Resolves with the exit code. */
export const main = async (args: readonly string[]): Promise<number> => {
  rememberCall({ commands, args, environment: process.env })
  const [first] = args
  if (first === '--version' || first === '-v') {
    process.stdout.write(`${about.version}\n`)
    return 0
  }
  const words = first === 'help' ? args.slice(1) : args
  const text = wantsHelp(args) ? help(words) : undefined
  if (text !== undefined) {
    process.stdout.write(text)
    return 0
  }
  const command = commandOf(words)
  if (command === undefined) {
    process.stderr.write(
      first === undefined ? overview(commands) : `strongroom: ${asCalled(unknown(words))}\n`,
    )
    return failsWith(words) ?? 2
  }
  try {
    const rest = words.slice(command.name.split(' ').length)
    const warning = warnOfUnknown(process.env)
    if (warning !== undefined) process.stderr.write(`strongroom: ${warning}\n`)
    const call = invocation(command, rest, process.env)
    setLimits(call.config.limits)
    return await command.run(call)
  } catch (error) {
    const code = reportFailure(command.name, error)
    return command.failsWith ?? code
  }
}

/** What was mistyped may have been a command whose exit codes say something else than wrong usage. */
const failsWith = ([first]: readonly string[]): 1 | undefined =>
  commands.find(({ name, failsWith }) => failsWith !== undefined && name.split(' ')[0] === first)?.failsWith

/** What follows `--` is a name, even if it looks like an option. */
const wantsHelp = (args: readonly string[]): boolean =>
  args[0] === 'help' || upTo(args, arg => arg === '--').some(arg => arg === '--help' || arg === '-h')

/** A partial name, as in `strongroom tenant --help`, asks for all commands that start with it. Undefined if there are none. */
const help = (words: readonly string[]): string | undefined => {
  const command = commandOf(words)
  if (command !== undefined) return usage(command)
  const [first, ...others] = upTo(words, word => word.startsWith('-'))
  if (first === undefined) return overview(commands)
  if (first === settingsTopic && others.length === 0) return settingsHelp()
  const section = commands.filter(({ name }) => name.startsWith(`${first} `))
  return others.length === 0 && section.length > 0 ? overview(section) : undefined
}

const upTo = (words: readonly string[], isEnd: (word: string) => boolean): readonly string[] => {
  const end = words.findIndex(isEnd)
  return end === -1 ? words : words.slice(0, end)
}

const unknown = ([first = '', second = '']: readonly string[]): string => {
  if (first.startsWith('-'))
    return `the command is missing before ${first.split('=', 1)[0]}${didYouMean(first, ['--help', '--version'])}; see strongroom help`
  const names = commands.map(({ name }) => name)
  const section = names.filter(name => name.startsWith(`${first} `))
  const firstWords = [...new Set(names.map(name => name.split(' ')[0] ?? name))]
  const whole = didYouMean(`${first} ${second}`.trim(), names)
  if (whole === '' && section.length > 0) return `which one: ${section.join(', ')}?`
  const hint = whole || didYouMean(first, firstWords)
  return `there is no such command${hint}; see strongroom help`
}

/** Runs the whole process: from its arguments to its exit code. */
export const runProcess = async (): Promise<void> => {
  surviveClosedOutput()
  const code = isWorker() ? await runAsWorker() : await main(process.argv.slice(2))
  process.exitCode ||= code
}

/**
 * Whether this process is a worker, which has the command line of its primary. Without a channel to a primary, the variable means
 * nothing.
 */
const isWorker = (): boolean => process.connected === true && process.env[workerVariable] !== undefined

/** Loaded on demand: the code for talking to workers would add 15 ms to the start of every command. */
const runAsWorker = async (): Promise<number> => (await import('./workers/run-worker.ts')).runWorker()
