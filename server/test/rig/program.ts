import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createMasterKeyFile } from '../../src/keys/file/create-master-key-file.ts'
import { runResident, type User } from './run-resident.ts'
import { temporaryFolder } from './temporary-folder.ts'

export const mainFile = join(import.meta.dirname, '../../bin/strongroom.js')

/**
 * Every program compiles the same code; after the first, it is found here. In a folder of the test run's cache, or of one of this
 * file: a program sets a flag of V8, which takes no code that was compiled without it.
 */
const compiledPath = join(process.env.NODE_COMPILE_CACHE ?? ownCache(), 'programs')
function ownCache(): string {
  const folder = temporaryFolder()
  process.on('exit', folder.remove)
  return folder.path
}
/** The same for the unprivileged user, who may not write to the other. */
let plainCompiledPath: string | undefined
const plainCache = (): string => {
  if (plainCompiledPath === undefined) {
    plainCompiledPath = ownCache()
    giveToPlainUser(plainCompiledPath)
  }
  return plainCompiledPath
}

type Environment = Record<string, string | undefined>
export type Result = {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A running child process whose output can be waited for. */
export class Program {
  readonly child: ChildProcess
  readonly exited: Promise<Result>
  stdout = ''
  stderr = ''
  readonly #watchers = new Set<() => void>()

  constructor(
    command: string,
    args: readonly string[],
    options: { cwd: string; env: Environment; uid?: number; gid?: number },
  ) {
    this.child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of ['stdout', 'stderr'] as const)
      this.child[stream]?.setEncoding('utf8').on('data', (text: string) => {
        this[stream] += text
        for (const watch of [...this.#watchers]) watch()
      })
    this.exited = once(this.child, 'close').then(([code, signal]) => {
      for (const watch of [...this.#watchers]) watch()
      return { code, signal, stdout: this.stdout, stderr: this.stderr }
    })
  }

  get pid(): number {
    assert.ok(this.child.pid)
    return this.child.pid
  }

  /** Resolves with the (nth) whole line that the test looks for. Fails if the program ends without it. */
  line(stream: 'stdout' | 'stderr', isIt: (line: string) => boolean, nth = 1): Promise<string> {
    return new Promise((resolve, reject) => {
      const watch = (): void => {
        const found = this[stream].split('\n').slice(0, -1).filter(isIt)[nth - 1]
        const isOver = this.child.exitCode !== null || this.child.signalCode !== null
        if (found === undefined && !isOver) return
        this.#watchers.delete(watch)
        if (found === undefined) reject(new Error(`the program ended: ${this.stdout}${this.stderr}`))
        else resolve(found)
      }
      this.#watchers.add(watch)
      watch()
    })
  }

  logged(message: string, nth?: number): Promise<string> {
    return this.line('stderr', line => line.includes(`"msg":"${message}"`), nth)
  }

  /** For the end of a test, whatever its outcome. */
  async end(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL')
    await this.exited
  }
}

const nobody = 65_534
const isRoot = process.getuid?.() === 0
const plainUser: User = isRoot ? { uid: nobody, gid: nobody } : {}

/** Why nothing can be run as an unprivileged user, if so: such a user must at least be able to read the program. */
export const noPlainUser = (): string | false =>
  spawnSync(process.execPath, [mainFile, '--version'], {
    ...plainUser,
    env: { NODE_COMPILE_CACHE: plainCache() },
  }).status === 0
    ? false
    : 'nobody may not read this repository'

/** Gives the unprivileged user a folder with everything in it. */
export const giveToPlainUser = (folder: string): void => {
  if (!isRoot) return
  for (const name of ['', ...readdirSync(folder, { recursive: true })])
    chownSync(join(folder, String(name)), nobody, nobody)
}

export type Reply = {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely and assert what they find
  readonly body: any
}

export const call = async (
  baseUrl: string,
  method: string,
  path: string,
  key: string,
  body?: unknown,
): Promise<Reply> => {
  const reply = await fetch(baseUrl + path, {
    method,
    headers: { 'svc-api-key': key, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await reply.text()
  return { status: reply.status, body: text === '' ? undefined : JSON.parse(text) }
}

const isForNode = (name: string): boolean => name.startsWith('NODE_')

const set = (environment: Environment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )

/** A place to run the real program in: its folder, with a data folder and a master key. */
export class Site {
  readonly #folder = temporaryFolder()
  readonly #programs: Program[] = []
  readonly path = this.#folder.path
  readonly data = join(this.path, 'data')
  readonly masterKeyFile = join(this.path, 'master.key')
  /** Flags that name its master key, for a vault that is elsewhere. */
  readonly keys: readonly string[] = [
    ...['--key-provider', 'file'],
    ...['--master-key-file', this.masterKeyFile],
  ]
  /** Flags that name this vault to every command. */
  readonly vault: readonly string[] = ['--data', this.data, ...this.keys]

  constructor() {
    createMasterKeyFile(this.masterKeyFile)
  }

  /** Nothing from the tests' environment except PATH: neither STRONGROOM_* nor HOME. One process, unless told otherwise. */
  environment(more: Environment = {}): Environment {
    return {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: compiledPath,
      STRONGROOM_WORKERS: '1',
      ...more,
    }
  }

  file(name: string, content: string | Uint8Array, mode = 0o600): string {
    const path = join(this.path, name)
    writeFileSync(path, content, { mode })
    return path
  }

  start(args: readonly string[], env: Environment = {}): Program {
    return this.#watch(new Program(process.execPath, [mainFile, ...args], this.#options(env)))
  }

  /** Carries out a command. Only those that serve, and those whose Node is told something, get a process of their own. */
  async run(args: readonly string[], env: Environment = {}): Promise<Result> {
    const needsOwn = args[0] === 'serve' || args[0] === 'dev' || Object.keys(env).some(isForNode)
    return needsOwn ? this.start(args, env).exited : this.#runResident(args, env)
  }

  /** Carries out a `serve` or `dev` that is refused before it opens storage. Until then it is a command like any other. */
  runRefused(args: readonly string[], env: Environment = {}): Promise<Result> {
    return this.#runResident(args, env)
  }

  /** The same as a user to whom files can be closed, which is impossible for root. */
  async runPlainly(args: readonly string[], env: Environment = {}): Promise<Result> {
    if (args[0] !== 'serve') return this.#runResident(args, env, plainUser)
    const options = { ...this.#options({ NODE_COMPILE_CACHE: plainCache(), ...env }), ...plainUser }
    return this.#watch(new Program(process.execPath, [mainFile, ...args], options)).exited
  }

  /** Runs a line in the shell, with `strongroom` on PATH as for an operator. */
  shell(line: string, env: Environment = {}): Promise<Result> {
    return this.startShell(line, env).exited
  }

  startShell(line: string, env: Environment = {}): Program {
    this.file('strongroom', `#!/bin/sh\nexec '${process.execPath}' '${mainFile}' "$@"\n`, 0o755)
    const PATH = `${this.path}:${process.env.PATH}`
    return this.#watch(new Program('/bin/sh', ['-c', line], this.#options({ PATH, ...env })))
  }

  /** Standard output, as JSON, of a command that must succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely and assert what they find
  async json(...args: readonly string[]): Promise<any> {
    const { code, stdout, stderr } = await this.run([...args, '--json', ...this.vault])
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
    return JSON.parse(stdout)
  }

  /** A server for this vault, or for the database that the environment names, on a free port, once it answers. */
  async serve(args: readonly string[] = [], env: Environment = {}): Promise<Program & { url: string }> {
    const vault = env.STRONGROOM_DATABASE_URL === undefined ? this.vault : this.keys
    const program = this.start(['serve', '--port', '0', ...vault, ...args], env)
    const { url } = JSON.parse(await program.logged('listening'))
    return Object.assign(program, { url })
  }

  async remove(): Promise<void> {
    for (const program of this.#programs) await program.end()
    this.#folder.remove()
  }

  async #runResident(args: readonly string[], env: Environment, user?: User): Promise<Result> {
    const asked = { args, cwd: this.path, env: set(this.environment(env)) }
    return { signal: null, ...(await runResident(asked, user)) }
  }

  #options(env: Environment): { cwd: string; env: Environment } {
    return { cwd: this.path, env: this.environment(env) }
  }

  #watch(program: Program): Program {
    this.#programs.push(program)
    return program
  }
}

/** What `doctor` writes to standard error besides its note of the log's public key. */
export const besidesKey = (stderr: string): string =>
  stderr.replace(/^strongroom doctor: the public key of the log: \S+\n/, '')

/** Called wrongly, half set up or failed: nothing on standard output, and one line that says why. */
export const assertRefused = (result: Result, code: 1 | 2, says: RegExp): void => {
  assert.equal(result.stdout, '')
  assert.match(result.stderr, /^strongroom[^\n]*: [^\n]+\n$/)
  assert.match(result.stderr, says)
  assert.equal(result.code, code)
}
