import { settingsTopic } from '../help.ts'
import { type Completed, type CompletedOption, sectionsOf } from './completed.ts'

export const fish = (commands: readonly Completed[]): string => {
  const lines = sectionsOf(commands).flatMap(({ first, summary, seconds }) => [
    `complete -c strongroom -f -n '__strongroom_after' -a ${first} -d ${text(summary)}`,
    ...seconds.map(
      ({ word, summary: told }) =>
        `complete -c strongroom -f -n '__strongroom_after ${first}' -a ${word} -d ${text(told)}`,
    ),
  ])
  return `# Completion of strongroom in fish. Load it with: strongroom completion fish | source

# The words before the cursor, without the program and a leading help.
function __strongroom_words
    set -l words (commandline -opc)
    set -e words[1]
    if test "$words[1]" = help
        set -e words[1]
    end
    printf '%s\n' $words
end

# Whether these words, and nothing else, come before the cursor.
function __strongroom_after
    set -l words (__strongroom_words)
    test "$words" = "$argv"
end

# Whether the command begins with these words, and with none of the longer commands that begin with them.
function __strongroom_in
    set -l words (__strongroom_words)
    test (count $words) -ge (count $argv); and test "$words[1..$(count $argv)]" = "$argv"
end

complete -c strongroom -f -n 'test "$(commandline -opc)[2]" = help; and __strongroom_after' -a ${settingsTopic} -d 'Explain all settings'
${[...lines, ...commands.flatMap(command => optionLines(command, commands))].join('\n')}
`
}

const optionLines = ({ name, values, options }: Completed, commands: readonly Completed[]): string[] => {
  const longer = commands.filter(other => other.name.startsWith(`${name} `))
  const where = [
    `__strongroom_in ${name}`,
    ...longer.map(other => `and not __strongroom_in ${other.name}`),
  ].join('; ')
  return [
    ...(values.length > 0 ? [`complete -c strongroom -f -n '${where}' -a ${text(values.join(' '))}`] : []),
    ...options.map(option => `complete -c strongroom -n '${where}' ${optionSpec(option)}`),
  ]
}

const optionSpec = ({ name, help, takes }: CompletedOption): string => {
  const value = takes === 'nothing' ? '' : takes === 'anything' ? ' -r -F' : ` -x -a ${text(takes.join(' '))}`
  return `-l ${name}${value} -d ${text(help)}`
}

/** Between single quotes, where fish knows two escapes. */
const text = (value: string): string => `'${value.replace(/[\\']/g, '\\$&')}'`
