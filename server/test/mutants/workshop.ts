import { spawn, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Mutant } from './mutant.ts'

export const repository = join(import.meta.dirname, '../../..')

/** Makes a copy of the repository, with these sources in place of its own; dependencies are shared. */
export const withCopy = async <T>(
  sources: readonly Source[],
  work: (folder: string) => Promise<T>,
): Promise<T> => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-mutant-'))
  try {
    const listed = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
      cwd: repository,
      encoding: 'utf8',
    })
    const isSource = (name: string): boolean =>
      /^(server|docs|package|tsconfig)/.test(name) && existsSync(join(repository, name))
    for (const file of listed.stdout.split('\n').filter(isSource)) {
      mkdirSync(join(folder, dirname(file)), { recursive: true })
      cpSync(join(repository, file), join(folder, file))
    }
    for (const { path, text } of sources) writeFileSync(join(folder, path), text)
    symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export type Source = { readonly path: string; readonly text: string; readonly squeezed: Squeezed }
/** A text without what a formatter changes, and where in the text each character of it is. */
type Squeezed = { readonly text: string; readonly places: readonly number[] }

export const readSources = (folder: string): Source[] =>
  globSync('server/src/**/*.{ts,sql}', { cwd: folder }).map(path =>
    sourceOf(path, readFileSync(join(folder, path), 'utf8')),
  )

const sourceOf = (path: string, text: string): Source => ({ path, text, squeezed: squeeze(text) })

const squeeze = (text: string): Squeezed => {
  const kept = [...text.matchAll(/[^\s,]|,(?!\s*[)\]}])/g)]
  return { text: kept.map(([character]) => character).join(''), places: kept.map(({ index }) => index) }
}

/** The sources with the bug in them. Fails if one of its texts is not there exactly once. */
export const plant = (sources: readonly Source[], { name, edits }: Mutant): readonly Source[] =>
  edits.reduce((before, { find, replace }) => {
    const wanted = squeeze(find).text
    const found = before.flatMap(source =>
      positions(source.squeezed.text, wanted).map(at => ({ source, at })),
    )
    const [place] = found
    if (place === undefined || found.length > 1)
      throw new Error(`${name} no longer fits: ${found.length} places have ${find.trim()}`)
    const { source, at } = place
    const { text, squeezed } = source
    const start = squeezed.places[at] ?? 0
    const end = (squeezed.places[at + wanted.length - 1] ?? 0) + 1
    const spoilt = sourceOf(source.path, text.slice(0, start) + replace + text.slice(end))
    return before.map(other => (other === source ? spoilt : other))
  }, sources)

const positions = (text: string, wanted: string): number[] => {
  const found: number[] = []
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) found.push(at)
  return found
}

export type Verdict = {
  readonly passed: boolean
  /** Names of the tests that failed, or the last lines of a program. */
  readonly failures: readonly string[]
}

/** Runs what must notice the bug. */
export const runTests = (
  folder: string,
  { run, pattern }: Pick<Mutant, 'run' | 'pattern'>,
): Promise<Verdict> => {
  const [program = '', ...rest] = run
  const [file = ''] = globSync(`server/test/**/${program}`, { cwd: folder })
  const isTest = file.endsWith('.test.ts')
  const args = isTest
    ? [
        '--test',
        '--test-reporter=tap',
        ...(pattern === undefined ? [] : [`--test-name-pattern=${pattern}`]),
        file,
      ]
    : [file, ...rest]
  return new Promise(resolve => {
    const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.on('close', code =>
      resolve({ passed: code === 0, failures: isTest ? failedTests(output) : lastWords(output) }),
    )
  })
}

/** The innermost tests that failed: neither the suites around them, nor a file that could not be loaded. */
const failedTests = (tap: string): string[] => {
  const lines = tap.split('\n')
  return lines.flatMap((line, index) => {
    const name = line.match(/^\s*not ok \d+ - (.+)$/)?.[1]
    const details = lines.slice(index + 1, index + 12).join('\n')
    const isSuite = /type: 'suite'|failureType: 'subtestsFailed'/.test(details)
    return name === undefined || isSuite || name.endsWith('.ts') ? [] : [name]
  })
}

const lastWords = (output: string): string[] =>
  output
    .split('\n')
    .filter(line => /^failed|^seed \d+: |Error: /.test(line))
    .map(line => line.slice(0, 160))
