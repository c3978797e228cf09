import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { openApi } from '../server/src/contract/openapi.ts'
import { startVault } from '../server/src/testing.ts'
import { temporaryFolder } from '../server/test/rig/temporary-folder.ts'

/**
 * npm run check:openapi [name]: linters have nothing to say about the OpenAPI document, and clients generated from it work against a
 * vault. Their tools go into a temporary folder. What cannot be had here is named and passed over.
 */
const only = process.argv[2]
const folder = temporaryFolder()
const at = (...path: string[]): string => join(folder.path, ...path)
const source = (name: string): string => join(import.meta.dirname, 'openapi-clients', name)

/** What a program printed, or undefined if it failed or is not there. Asynchronous, because the vault is in this process. */
const run = async (program: string, ...args: string[]): Promise<{ isGood: boolean; said: string }> => {
  const env = { ...process.env, GOPATH: at('go'), GOBIN: at('go-bin'), GOFLAGS: '-mod=mod -modcacherw' }
  const child = spawn(program, args, { cwd: folder.path, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const code = new Promise<number | null>(resolve =>
    child.on('close', resolve).on('error', () => resolve(127)),
  )
  const [out, error] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { isGood: (await code) === 0, said: out + error }
}
const has = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0
const local = (name: string): string => at('node_modules/.bin', name)

type Check = {
  readonly name: string
  /** Installs what is needed: false if it cannot be had. */
  readonly prepare: () => Promise<boolean>
  /** In turn; the first that fails ends the check. */
  readonly steps: (arguments_: readonly string[]) => readonly (readonly [string, ...string[]])[]
}

const npm = (...packages: string[]) =>
  run('npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-save', ...packages).then(
    ({ isGood }) => isGood,
  )

const checks: readonly Check[] = [
  {
    name: 'redocly',
    prepare: async () => {
      writeFileSync(at('redocly.yaml'), 'extends: [recommended-strict]\n')
      return npm('@redocly/cli@2.77.0')
    },
    steps: () => [[local('redocly'), 'lint', '--config', 'redocly.yaml', 'openapi.json']],
  },
  {
    name: 'spectral',
    prepare: async () => {
      writeFileSync(at('spectral.yaml'), 'extends: ["spectral:oas"]\n')
      return npm('@stoplight/spectral-cli@6.16.3')
    },
    steps: () => [
      [local('spectral'), 'lint', '--fail-severity', 'hint', '-r', 'spectral.yaml', 'openapi.json'],
    ],
  },
  {
    name: 'typescript',
    prepare: async () => {
      copyFileSync(source('client.ts.txt'), at('client.ts'))
      return npm(
        'openapi-typescript@7.13.0',
        'openapi-fetch@0.17.0',
        'typescript@5.9.3',
        '@types/node@26.6.6',
      )
    },
    steps: arguments_ => [
      [local('openapi-typescript'), 'openapi.json', '-o', 'vault.d.ts'],
      [
        ...([local('tsc'), '--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext'] as const),
        ...['--allowImportingTsExtensions', '--types', 'node', 'client.ts'],
      ],
      [process.execPath, 'client.ts', ...arguments_],
    ],
  },
  {
    name: 'python',
    prepare: async () => {
      if (!has('python3', '--version')) return false
      copyFileSync(source('client.py'), at('client.py'))
      await run('python3', '-m', 'venv', 'python')
      return (
        await run(
          at('python/bin/pip'),
          'install',
          '-q',
          'openapi-python-client==0.29.1',
          'attrs',
          'httpx',
          'python-dateutil',
        )
      ).isGood
    },
    steps: arguments_ => [
      [
        ...([at('python/bin/openapi-python-client'), 'generate', '--meta', 'none'] as const),
        ...['--path', 'openapi.json', '--output-path', 'strongroom_client', '--overwrite'],
      ],
      [at('python/bin/python'), 'client.py', ...arguments_],
    ],
  },
  {
    name: 'go',
    prepare: async () => {
      if (!has('go', 'version')) return false
      mkdirSync(at('vault'), { recursive: true })
      copyFileSync(source('main.go'), at('main.go'))
      writeFileSync(at('go.mod'), 'module clients\n\ngo 1.24\n')
      return (await run('go', 'install', 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'))
        .isGood
    },
    steps: arguments_ => [
      [
        ...([at('go-bin/oapi-codegen'), '-generate', 'types,client', '-package', 'vault'] as const),
        ...['-o', 'vault/vault.go', 'openapi.json'],
      ],
      ['go', 'mod', 'tidy'],
      ['go', 'run', '.', ...arguments_],
    ],
  },
]

writeFileSync(at('package.json'), '{ "private": true, "type": "module" }')
writeFileSync(at('openapi.json'), JSON.stringify(openApi('svc'), null, 2))
const vault = await startVault()
const { api_key, private_api_key, management_api_key } = vault.keys
try {
  for (const { name, prepare, steps } of checks) {
    if (only !== undefined && name !== only) continue
    if (!(await prepare())) {
      process.stdout.write(`${name}: skipped, because it cannot be had here\n`)
      continue
    }
    let failure: string | undefined
    for (const [program, ...args] of steps([vault.base_url, api_key, private_api_key, management_api_key])) {
      const { isGood, said } = await run(program, ...args)
      if (!isGood) failure ??= said
      if (failure !== undefined) break
    }
    process.stdout.write(failure === undefined ? `${name}: good\n` : `${name}: failed\n${failure}\n`)
    if (failure !== undefined) process.exitCode = 1
  }
} finally {
  await vault.stop()
  folder.remove()
}
