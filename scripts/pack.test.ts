import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import manifest from '../package.json' with { type: 'json' }
import { guideNames } from '../server/src/http/docs/guides.ts'
import { inShortRun } from '../server/test/rig/long-run.ts'
import { call, Program } from '../server/test/rig/program.ts'
import { temporaryFolder } from '../server/test/rig/temporary-folder.ts'
import { packageFiles } from './packing/package-files.ts'
import { plainJavaScript } from './packing/plain-javascript.ts'
import { InstalledRegistry } from './packing/registry.ts'
import { tarball } from './packing/tarball.ts'

const root = join(import.meta.dirname, '..')
/** Where programs are, but none of this clone's. */
const elsewhere = (process.env.PATH ?? '').split(delimiter).filter(path => !path.includes('node_modules'))
const files = packageFiles()
const packed = tarball(files)
const code = files.filter(({ path }) => /^(src|bin)\/.*\.js$/.test(path) && path !== 'bin/verify-log.js')

const sourceOf = (path: string): string =>
  readFileSync(join(root, 'server', path.startsWith('src/') ? path.replace(/js$/, 'ts') : path), 'utf8')

describe('the tarball', () => {
  test('packed twice, in whatever order files are found, it has the same bytes: at most 500 kB (docs/install.md)', () => {
    assert.ok(packed.equals(tarball(packageFiles().toReversed())))
    assert.ok(packed.length <= 500_000, String(packed.length))
  })

  test('it has what is needed to run and no sources, tests or packages of Node (docs/install.md)', () => {
    const about = JSON.parse(String(files.find(({ path }) => path === 'package.json')?.bytes))
    const { engines, exports, bin, dependencies, optionalDependencies, scripts } = about
    assert.deepEqual(
      { engines, exports: Object.keys(exports), bin, optionalDependencies, scripts },
      {
        engines: { node: '>=26' },
        exports: ['./testing'],
        bin: { strongroom: 'bin/strongroom.js' },
        optionalDependencies: undefined,
        scripts: undefined,
      },
    )
    assert.deepEqual(Object.keys(dependencies), ['age-encryption', 'ajv', 'pg'])
    const others = files.map(({ path }) => path).filter(path => !/^src\/.*\.js$|^bin\//.test(path))
    assert.deepEqual(others.sort(), [
      'LICENSE',
      'README.md',
      ...guideNames.map(name => `docs/${name}.md`).sort(),
      'package.json',
      'src/testing.d.ts',
    ])
    assert.ok(code.length > 400)
  })

  test('whatever is left of a source stays at its line and column (docs/install.md)', () => {
    for (const { path, bytes } of code) {
      const lines = sourceOf(path).split('\n')
      for (const [row, line] of String(bytes).split('\n').entries())
        for (const [column, character] of [...line.matchAll(/\S/gu)].map(
          found => [found.index, found[0]] as const,
        )) {
          const was = lines[row]?.[column]
          // What is stripped may leave a semicolon or a parenthesis, where the code needs one.
          const isRenamed =
            character === 'j' && was === 't' && lines[row]?.slice(column - 1, column + 2) === '.ts'
          if (character !== was && !isRenamed && !/[;)]/.test(character))
            assert.fail(`${path}:${row + 1}:${column + 1} ${character} was ${was}`)
        }
    }
  })

  test('every file is JavaScript (docs/install.md)', async () => {
    const check = `
      import vm from 'node:vm'
      import { json } from 'node:stream/consumers'
      for (const [identifier, code] of await json(process.stdin)) new vm.SourceTextModule(code, { identifier })`
    const args = ['--experimental-vm-modules', '--input-type=module', '-e', check]
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'pipe'] })
    child.stdin.end(JSON.stringify(code.map(({ path, bytes }) => [path, String(bytes).replace(/^#!.*/, '')])))
    const said = await text(child.stderr)
    assert.doesNotMatch(said, /Error/)
  })

  for (const [name, source, expected] of [
    ['a type', 'const a: string = b as never', 'const a         = b'],
    [
      'names of files',
      "import { a } from './a.ts'\nawait import('../b.ts')",
      "import { a } from './a.js'\nawait import('../b.js')",
    ],
    ['the address of a thread', "new URL('./a.ts', import.meta.url)", "new URL('./a.js', import.meta.url)"],
    [
      'comments, but not code behind one',
      '/** a */\n/* b */ c()\n// d\ne() // f',
      '\n/* b */ c()\n\ne() // f',
    ],
    ['a text that names a file', "say('./a.ts')", "say('./a.ts')"],
    ['blanks inside a text', 'say(`a  \nb`)', 'say(`a  \nb`)'],
  ] as const)
    test(`${name} (docs/install.md)`, () => {
      assert.equal(plainJavaScript(source, 'x.ts'), `${expected}\n`)
    })

  test('a line of a text that looks like a comment is not removed: the build fails (docs/install.md)', () => {
    assert.throws(
      () => plainJavaScript('say(`\n  // no comment\n`)', 'x.ts'),
      /x\.ts: what looks like a comment/,
    )
  })
})

describe('the package, installed', { timeout: 120_000 }, () => {
  const folder = temporaryFolder()
  const programs: Program[] = []
  let registry: InstalledRegistry
  /** Nothing of this clone: neither its settings of npm nor its Node in front of the PATH. */
  const environment = () => ({
    PATH: [join(process.execPath, '..'), ...elsewhere].join(delimiter),
    HOME: folder.path,
    npm_config_registry: registry.url,
    npm_config_cache: join(folder.path, 'cache'),
    npm_config_ignore_scripts: 'true',
    npm_config_audit: 'false',
    npm_config_update_notifier: 'false',
    STRONGROOM_PORT: '0',
  })
  const start = (command: string, args: readonly string[]): Program => {
    const program = new Program(command, args, { cwd: folder.path, env: environment() })
    programs.push(program)
    return program
  }
  const script = (source: string) => {
    writeFileSync(join(folder.path, 'script.mjs'), source)
    return start(process.execPath, ['script.mjs']).exited
  }

  before(async () => {
    registry = await InstalledRegistry.start()
    writeFileSync(join(folder.path, 'strongroom.tgz'), packed)
    const { code, stderr } = await start('npm', ['install', './strongroom.tgz']).exited
    assert.equal(code, 0, stderr)
  })
  after(async () => {
    for (const program of programs) await program.end()
    registry.close()
    folder.remove()
  })

  const createdToken = async (program: Program): Promise<void> => {
    const told = await program.line('stdout', line => line.includes('SVC-API-KEY'))
    const [, url = '', key = ''] = /curl -s (\S+)\/tokens -H '[\w-]+: (\S+)'/.exec(told) ?? []
    const { status, body } = await call(url, 'POST', '/tokens', key, { type: 'token', data: 'secret' })
    assert.equal(status, 201, JSON.stringify(body))
    program.child.kill('SIGTERM')
    assert.equal((await program.exited).code, 0, program.stderr)
  }

  test('a vault runs from node_modules, with its threads, to a created token (docs/install.md)', () =>
    createdToken(start(process.execPath, ['node_modules/.bin/strongroom', 'dev', '--data', 'a'])))

  test('npx runs it by name, and its verifier comes with it (docs/install.md)', {
    skip: inShortRun,
  }, async () => {
    const { stdout } = await start('npx', ['--no', '--', 'strongroom', '--version']).exited
    assert.equal(stdout, '0.1.0\n')
    const verifier = start(process.execPath, ['node_modules/strongroom/bin/verify-log.js', '--help'])
    assert.match((await verifier.exited).stdout, /^Usage: node verify-log\.js/)
  })

  test('a test of somebody else starts a vault, uses it, and stops it (docs/install.md)', {
    skip: inShortRun,
  }, async () => {
    const { code, stdout, stderr } = await script(`
      import { startVault } from 'strongroom/testing'
      let ahead = 0
      const vault = await startVault({ clock: () => Date.now() + ahead })
      const send = (method, path, key, body) => fetch(vault.base_url + path, {
        method,
        headers: { 'SVC-API-KEY': key, ...(body && { 'Content-Type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
      const { api_key, private_api_key } = vault.keys
      const expires_at = new Date(Date.now() + 60_000).toISOString()
      const created = await send('POST', '/tokens', api_key, { id: 'mine', type: 'token', data: 'secret', expires_at })
      const read = await (await send('GET', '/tokens/mine', private_api_key)).json()
      ahead = 3_600_000
      const late = await send('GET', '/tokens/mine', private_api_key)
      await vault.stop()
      console.log(created.status, read.data, late.status)
    `)
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '201 secret 404\n', stderr: '' })
  })

  test('a vault in a folder goes on where it was (docs/install.md)', {
    skip: inShortRun,
  }, async () => {
    const { stdout, stderr } = await script(`
      import { startVault } from 'strongroom/testing'
      const first = await startVault({ folder: 'kept' })
      await first.stop()
      const second = await startVault({ folder: 'kept' })
      await second.stop()
      console.log(first.tenant_id === second.tenant_id, first.keys.api_key === second.keys.api_key)
    `)
    assert.equal(stdout, 'true true\n', stderr)
  })

  test('nothing else can be imported, and a stack trace points into the sources (docs/install.md)', async () => {
    const { stdout } = await script(`
      import { startVault } from 'strongroom/testing'
      await import('strongroom/src/service.js').catch(error => console.log(error.code))
      await startVault({ folder: '/dev/null/vault' }).catch(error => console.log(error.stack))
    `)
    assert.match(stdout, /^ERR_PACKAGE_PATH_NOT_EXPORTED\n/)
    const frames = [
      ...stdout.matchAll(/at (?:async )?(?:new )?(\w+) .*\/strongroom\/(src\/\S+\.js):(\d+):(\d+)/g),
    ]
    assert.deepEqual(
      frames.map(([, name]) => name),
      ['unusable', 'makeDataFolder', 'open', 'startVault'],
    )
    const at = frames.map(([, , path = '', line, column]) =>
      sourceOf(path)
        .split('\n')
        [Number(line) - 1]?.slice(Number(column) - 1),
    )
    assert.match(at[0] ?? '', /^new ConfigError\(/)
    assert.match(at[1] ?? '', /^unusable\(dataFolder, error\)/)
    assert.match(at[2] ?? '', /^makeDataFolder\(folder\)/)
    assert.match(at[3] ?? '', /^open\(folder, port, clock\)/)
  })

  /** Our Node with the version of an old one: it cannot be told apart by the launcher. */
  const older = `data:text/javascript,${encodeURIComponent(
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })",
  )}`

  test('on an older Node one line names a command that works as it is, without installation scripts (docs/install.md)', {
    skip: inShortRun,
  }, async () => {
    const args = ['node_modules/.bin/strongroom', 'master-key', '--master-key-file', 'my key']
    const { code, stdout, stderr } = await start(process.execPath, ['--import', older, ...args]).exited
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' })
    const [, command = ''] =
      /^strongroom: Node 26 or newer is needed, this is v[\d.]+: (npx .*)\n$/.exec(stderr) ?? []
    assert.match(
      command,
      /^npx --yes --ignore-scripts -p node-\S+@26\.\S+ -- strongroom master-key --\S+ 'my key'$/,
    )
    const followed = await start('sh', ['-c', command]).exited
    assert.equal(followed.code, 0, followed.stderr)
    assert.ok(existsSync(join(folder.path, 'my key')))
  })

  test('the packages that the line may name are those that a clone installs (docs/install.md)', () => {
    const launcher = readFileSync(join(root, 'server/bin/strongroom.js'), 'utf8')
    const [, version] = /nodeVersion = '([^']+)'/.exec(launcher) ?? []
    const names = [...launcher.matchAll(/'(?:linux|darwin) \w+': '([^']+)'/g)].map(([, name]) => name)
    assert.deepEqual(Object.fromEntries(names.map(name => [name, version])), manifest.optionalDependencies)
  })
})
