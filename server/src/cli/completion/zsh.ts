import { settingsTopic } from '../help.ts'
import { type Completed, type CompletedOption, longestFirst, quoted, sectionsOf } from './completed.ts'

export const zsh = (commands: readonly Completed[]): string => {
  const sections = sectionsOf(commands)
  return `#compdef strongroom
# Completion of strongroom in zsh. Load it with: source <(strongroom completion zsh)
_strongroom() {
  local -i base=2
  local -a found
  if (( CURRENT > 2 )) && [[ \${words[2]} == help ]]; then base=3; fi
  local first=\${words[base]} second=\${words[base + 1]}
  if (( CURRENT == base )); then
    found=(
${sections.map(({ first, summary }) => `      ${described(first, summary)}`).join('\n')}
    )
    if (( base == 3 )); then found+=(${quoted(`${settingsTopic}:Explain all settings`)}); fi
    _describe command found
    return
  fi
  if (( CURRENT == base + 1 )); then
    case $first in
${sections
  .filter(({ seconds }) => seconds.length > 0)
  .map(
    ({ first, seconds }) =>
      `      ${first}) found=(${seconds.map(({ word, summary }) => described(word, summary)).join(' ')}) ;;`,
  )
  .join('\n')}
    esac
    if (( \${#found} > 0 )); then _describe command found; fi
  fi
  case "$first $second" in
${longestFirst(commands)
  .filter(({ options }) => options.length > 0)
  .map(commandCase)
  .join('\n')}
  esac
}
if [ "\${funcstack[1]}" = _strongroom ]; then _strongroom "$@"; else compdef _strongroom strongroom; fi
`
}

/** A colon ends the word that is described. */
const described = (word: string, text: string): string => quoted(`${word}:${text}`)

const commandCase = ({ name, values, options }: Completed): string => {
  const count = name.split(' ').length
  const pattern = count > 1 ? quoted(name) : `${quoted(`${name} `)}*`
  const argument = values.length > 0 ? `*: :(${values.join(' ')})` : '*: :_files'
  return `    ${pattern})
      shift $(( base + ${count - 2} )) words
      (( CURRENT -= base + ${count - 2} ))
      _arguments ${[...options.map(optionSpec), argument].map(quoted).join(' \\\n        ')} ;;`
}

const optionSpec = ({ name, help, takes }: CompletedOption): string => {
  const told = help.replace(/[\\[\]:]/g, '\\$&')
  if (takes === 'nothing') return `--${name}[${told}]`
  return `--${name}=[${told}]: :${takes === 'anything' ? '_files' : `(${takes.join(' ')})`}`
}
