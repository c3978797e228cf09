/** A command as the shells complete it. */
export type Completed = {
  /** `tenant create` */
  readonly name: string
  readonly summary: string
  /** What its argument may be, if that is one of a few words. */
  readonly values: readonly string[]
  readonly options: readonly CompletedOption[]
}

export type CompletedOption = {
  readonly name: string
  readonly help: string
  /** One of these words, anything (the shell offers files), or nothing. */
  readonly takes: readonly string[] | 'anything' | 'nothing'
}

/** A first word, and the words that may follow it: `tenant`, with `create` and `list`. */
export type Section = {
  readonly first: string
  readonly summary: string
  readonly seconds: readonly Second[]
}
export type Second = { readonly word: string; readonly summary: string }

export const sectionsOf = (commands: readonly Completed[]): Section[] => {
  const firsts = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? name))]
  return firsts.map(first => {
    const seconds = commands
      .filter(({ name }) => name.startsWith(`${first} `))
      .map(({ name, summary }) => ({ word: name.slice(first.length + 1), summary }))
    const alone = commands.find(({ name }) => name === first)
    return { first, summary: alone?.summary ?? seconds.map(({ word }) => word).join(', '), seconds }
  })
}

/** Two words first: `master-key add` also begins with `master-key`. */
export const longestFirst = (commands: readonly Completed[]): Completed[] =>
  commands.toSorted((a, b) => b.name.split(' ').length - a.name.split(' ').length)

/** As one word of a shell, between single quotes. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
