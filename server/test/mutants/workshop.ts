import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Mutant } from './mutant.ts'

const repository = join(import.meta.dirname, '../../..')

/** Makes a copy of the sources for a mutant to spoil; dependencies are shared. */
export const withCopy = async <T>(work: (folder: string) => Promise<T>): Promise<T> => {
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
    symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export const plant = (folder: string, { file }: Mutant): boolean =>
  spawnSync('git', ['apply', '--recount', file], { cwd: folder }).status === 0

/** Whether it could be planted in the code as it is now. */
export const fits = ({ file }: Mutant): boolean =>
  spawnSync('git', ['apply', '--check', '--recount', file], { cwd: repository }).status === 0

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
  const [file = ''] = run
  const isTest = file.endsWith('.test.ts')
  const args = isTest
    ? [
        '--test',
        '--test-reporter=tap',
        ...(pattern === undefined ? [] : [`--test-name-pattern=${pattern}`]),
        ...run,
      ]
    : run
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
