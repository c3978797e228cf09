import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** A planted bug: a few lines that say what it breaks and what must notice, then the texts to replace in server/src. */
export type Mutant = {
  readonly name: string
  /** The part of the rig for which it is planted. */
  readonly kind: string
  readonly bug: string
  /** A test file, or a program of the rig with its arguments. */
  readonly run: readonly string[]
  /** Only tests with matching names. */
  readonly pattern: string | undefined
  readonly edits: readonly Edit[]
}

export type Edit = { readonly find: string; readonly replace: string }

/** In the order of docs/testing.md. */
export const kinds: readonly string[] = [
  'interface',
  'crash',
  'faults',
  'tampering',
  'simulation',
  'fuzzing',
  'leaks',
  'isolation',
  'overload',
  'log',
  'metrics',
  'events',
  'moving',
]

export const readMutants = (folder: string): Mutant[] =>
  globSync('*.mutant', { cwd: folder })
    .map(name => {
      const [head = '', ...edits] = readFileSync(join(folder, name), 'utf8').split(/^== find\n/m)
      const field = (title: string): string | undefined =>
        head.match(new RegExp(`^${title}: (.+)$`, 'm'))?.[1]
      const required = (title: string): string => {
        const text = field(title)
        if (text === undefined) throw new Error(`${name} has no line "${title}: …"`)
        return text
      }
      const kind = required('Kind')
      if (!kinds.includes(kind)) throw new Error(`${name} is of no kind that there is: ${kind}`)
      return {
        name: basename(name, '.mutant'),
        kind,
        bug: required('Bug'),
        run: required('Run').split(' '),
        pattern: field('Test'),
        edits: edits.map(edit => {
          const [find = '', replace] = edit.split(/^== replace\n/m)
          if (find.trim() === '' || replace === undefined) throw new Error(`${name} lacks a text`)
          return { find, replace: replace.trimEnd() }
        }),
      }
    })
    .sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind) || a.name.localeCompare(b.name))
