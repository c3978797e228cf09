import { settingsTopic } from '../help.ts'
import { type Completed, longestFirst, quoted, sectionsOf } from './completed.ts'

/** Also for bash 3.2, which macOS has. */
export const bash = (commands: readonly Completed[]): string => {
  const sections = sectionsOf(commands)
  return `# Completion of strongroom in bash. Load it with: source <(strongroom completion bash)
_strongroom() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} base=1 words=
  # --option=value are three words to bash.
  if [ "$current" = '=' ]; then current=
  elif [ "$previous" = '=' ]; then previous=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
  if [ "$COMP_CWORD" -gt 1 ] && [ "\${COMP_WORDS[1]}" = help ]; then base=2; fi
  local first=\${COMP_WORDS[base]} second=\${COMP_WORDS[base + 1]}
  if [ "$COMP_CWORD" -eq "$base" ]; then
    words=${quoted(sections.map(({ first }) => first).join(' '))}
    if [ "$base" -eq 2 ]; then words="$words ${settingsTopic}"; fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  if [ "$COMP_CWORD" -eq $((base + 1)) ]; then
    case $first in
${sections
  .filter(({ seconds }) => seconds.length > 0)
  .map(
    ({ first, seconds }) => `      ${first}) words=${quoted(seconds.map(({ word }) => word).join(' '))} ;;`,
  )
  .join('\n')}
    esac
  fi
  case "$first $second" in
${longestFirst(commands)
  .filter(({ options }) => options.length > 0)
  .map(commandCase)
  .join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _strongroom strongroom
`
}

const commandCase = ({ name, values, options }: Completed): string => {
  const pattern = name.includes(' ') ? quoted(name) : `${quoted(`${name} `)}*`
  const known = options.flatMap(({ name: option, takes }) =>
    typeof takes === 'string'
      ? []
      : [
          `        --${option}) COMPREPLY=($(compgen -W ${quoted(takes.join(' '))} -- "$current")); return ;;\n`,
        ],
  )
  // An empty answer makes bash complete the name of a file.
  const free = options.filter(({ takes }) => takes === 'anything').map(({ name: option }) => `--${option}`)
  return `    ${pattern})
      case $previous in
${known.join('')}        ${free.join('|')}) return ;;
      esac
      case $current in
        -*) words=${quoted(options.map(({ name: option }) => `--${option}`).join(' '))} ;;
${values.length > 0 ? `        *) words=${quoted(values.join(' '))} ;;\n` : ''}      esac ;;`
}
