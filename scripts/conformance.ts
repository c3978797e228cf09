export type TestSource = { readonly file: string; readonly text: string }

type Requirement = { readonly id: string; readonly sentence: string }
/** A section or rule with its own id: `§4.5 Update token`, `C13 No write teaches …`, `L1 No unlogged act`. */
type Rule = { readonly id: string; readonly title: string; readonly requirements: Requirement[] }
type CitingTest = { readonly file: string; readonly name: string; readonly ids: readonly string[] }

/** Sections are §. Rules are C; those of the log L, of using tokens U, of events E, of the console K. */
const idPattern = '[§CLUEK]\\d+(?:\\.\\d+)*'
const rulePattern = new RegExp(`^## (${idPattern}) (.+)$`)
const requirementPattern = new RegExp(`^- \\*\\*(${idPattern})\\*\\* (.+)$`)
/** The ids at the end of a name: `a blind mask … (C13.2, C12.4)`, or a name that is nothing but ids. */
const idsPattern = new RegExp(`^(${idPattern}(?: ${idPattern})*)$|\\((${idPattern}(?:, ${idPattern})*)\\)$`)
/** Where a literal begins, unless it names a test that is skipped or to do. */
const openingQuotePattern = /(?<!\.(?:skip|todo)\(\s*)(['"`])/g

/**
 * Which test proves which requirement, as Markdown. A test's name is a string literal that ends with ids, wherever it
 * stands: in a call of `test`, or in a table of scenarios.
 */
export const conformance = (requirements: string, sources: readonly TestSource[]): string => {
  const rules = readRules(requirements)
  const known = new Set(rules.flatMap(rule => [rule.id, ...rule.requirements.map(({ id }) => id)]))
  const tests = sources.flatMap(readTests)
  const unknown = tests.flatMap(({ file, name, ids }) =>
    ids.filter(id => !known.has(id)).map(id => `${file}: "${name}" cites ${id}, which is no requirement`),
  )
  if (unknown.length > 0) throw new Error(unknown.join('\n'))

  const citing = Map.groupBy(
    tests.flatMap(test =>
      test.ids.map(id => ({ id, line: `${escapeMarkdown(test.name)} (\`${test.file}\`)` })),
    ),
    ({ id }) => id,
  )
  const linesOf = (id: string): string[] => [...new Set((citing.get(id) ?? []).map(({ line }) => line))]
  return `${[...openList(rules, id => !citing.has(id)), ...rules.flatMap(rule => section(rule, linesOf))].join('\n')}\n`
}

const readRules = (text: string): Rule[] => {
  const rules: Rule[] = []
  const seen = new Set<string>()
  const once = (id: string): string => {
    if (seen.has(id)) throw new Error(`docs/requirements.md has ${id} twice`)
    seen.add(id)
    return id
  }
  for (const line of text.split('\n')) {
    const [, ruleId, title] = rulePattern.exec(line) ?? []
    if (ruleId !== undefined && title !== undefined) rules.push({ id: once(ruleId), title, requirements: [] })
    const [, id, sentence] = requirementPattern.exec(line) ?? []
    if (id === undefined || sentence === undefined) {
      if (line.startsWith('- ')) throw new Error(`docs/requirements.md has a line without an id: ${line}`)
      continue
    }
    const rule = rules.at(-1)
    if (rule === undefined || !id.startsWith(`${rule.id}.`))
      throw new Error(`docs/requirements.md has ${id} under ${rule?.id ?? 'no heading'}`)
    rule.requirements.push({ id: once(id), sentence })
  }
  return rules
}

const readTests = ({ file, text }: TestSource): CitingTest[] => {
  const tests: CitingTest[] = []
  for (const match of text.matchAll(openingQuotePattern)) {
    const name = readLiteral(text, match.index)
    const [, alone, last] = idsPattern.exec(name) ?? []
    const ids = (alone ?? last)?.split(/,? /)
    if (ids !== undefined) tests.push({ file, name, ids })
  }
  return tests
}

/** The text of the literal whose opening quote is at `start`; template substitutions are shown as `…`. */
const readLiteral = (text: string, start: number): string => {
  const quote = text[start]
  let name = ''
  for (let at = start + 1; at < text.length && text[at] !== quote; at++) {
    if (text[at] === '\\') name += escaped(text[++at] ?? '')
    else if (quote === '`' && text.startsWith('${', at)) {
      name += '…'
      at = endOfHole(text, at + 2)
    } else name += text[at]
  }
  return name
}

/** Quotes and backslashes stand for themselves; other escapes are shown as written. */
const escaped = (character: string): string => (/['"`\\]/.test(character) ? character : `\\${character}`)

/** The position of the `}` that closes a template substitution. */
const endOfHole = (text: string, start: number): number => {
  let at = start
  for (let depth = 1; at < text.length; at++) {
    if (text[at] === '{') depth++
    else if (text[at] === '}' && --depth === 0) break
  }
  return at
}

const escapeMarkdown = (name: string): string => name.replace(/[\\`*_<>[\]]/g, '\\$&')

const openList = (rules: readonly Rule[], isOpen: (id: string) => boolean): string[] => {
  const lines = rules.flatMap(({ id, title, requirements }) => {
    const open = requirements.filter(requirement => isOpen(requirement.id)).map(requirement => requirement.id)
    if (open.length === 0) return []
    return [`- **${id}** ${title}: ${open.length === requirements.length ? 'all' : open.join(', ')}`]
  })
  return [
    '<!-- Generated by `npm run generate` from docs/requirements.md and the names of the tests. -->',
    '',
    '# Conformance',
    '',
    'Each requirement with the tests whose names cite it, or **open** where no test does. A test that cites a',
    'whole section or rule stands below its heading and closes none of its lines.',
    '',
    '## Open',
    '',
    ...(lines.length === 0 ? ['Nothing: every requirement has a test.'] : lines),
  ]
}

const section = ({ id, title, requirements }: Rule, linesOf: (id: string) => string[]): string[] => {
  const whole = linesOf(id).map(line => `- ${line}`)
  return [
    '',
    `## ${id} ${title}`,
    '',
    ...(whole.length === 0 ? [] : ['As a whole:', '', ...whole, '']),
    ...(requirements.length === 0 ? ['No requirements.'] : []),
    ...requirements.flatMap(requirement => {
      const lines = linesOf(requirement.id)
      const first = `- **${requirement.id}** ${requirement.sentence}`
      return lines.length === 0 ? [`${first} **open**`] : [first, ...lines.map(line => `  - ${line}`)]
    }),
  ]
}
