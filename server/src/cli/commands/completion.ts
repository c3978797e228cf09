import { ConfigError } from '../../config/config-error.ts'
import { settings } from '../../config/settings.ts'
import { didYouMean } from '../../domain/text/did-you-mean.ts'
import type { Command } from '../command.ts'
import { bash } from '../completion/bash.ts'
import type { Completed, CompletedOption } from '../completion/completed.ts'
import { fish } from '../completion/fish.ts'
import { zsh } from '../completion/zsh.ts'
import { type Shell, shells } from '../shells.ts'

const scripts: Readonly<Record<Shell, (commands: readonly Completed[]) => string>> = { bash, zsh, fish }

/** The script is made from the declarations of the commands, so completion itself starts no program. */
export const completion = async (asked: string, commands: readonly Command[]): Promise<number> => {
  const shell = shells.find(name => name === asked)
  if (shell === undefined)
    throw new ConfigError(`<shell> must be ${shells.join(', ')}${didYouMean(asked, shells)}`)
  process.stdout.write(scripts[shell]([...commands.map(completed), help]))
  return 0
}

const help: Completed = { name: 'help', summary: 'Explain a command', values: [], options: [] }

const completed = (command: Command): Completed => {
  const { name, summary, words: [word = ''] = [], options = {}, flags = {}, values = {}, reads } = command
  const read: readonly string[] = reads
  return {
    name,
    summary,
    values: values[word] ?? [],
    options: [
      ...Object.entries(options).map(
        ([option, help]): CompletedOption => ({ name: option, help, takes: values[option] ?? 'anything' }),
      ),
      ...Object.entries(flags).map(
        ([flag, help]): CompletedOption => ({ name: flag, help, takes: 'nothing' }),
      ),
      ...settings
        .filter(setting => read.includes(setting.name) && !setting.isSecret)
        .map(
          (setting): CompletedOption => ({
            name: setting.name,
            help: setting.help,
            takes: setting.values ?? 'anything',
          }),
        ),
      { name: 'config', help: 'JSON file with settings', takes: 'anything' },
      { name: 'help', help: 'explain the command', takes: 'nothing' },
    ],
  }
}
