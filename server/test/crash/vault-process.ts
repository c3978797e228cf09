import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StarterKeys } from '../../src/cli/starter-applications.ts'
import { mainFile, Program, type Result, type Site } from '../cli/program.ts'

/** `strongroom dev` as its own process, on a port of its own choice. */
export class VaultProcess {
  readonly #program: Program
  readonly keys: StarterKeys

  private constructor(program: Program, keys: StarterKeys) {
    this.#program = program
    this.keys = keys
  }

  /** Resolves once it answers requests; rejects with what it said when it ends before that. */
  static async start(folder: string): Promise<VaultProcess> {
    const environment = { STRONGROOM_DATA: folder, STRONGROOM_PORT: '0', STRONGROOM_LOG_LEVEL: 'error' }
    const program = new Program(process.execPath, [mainFile, 'dev'], {
      cwd: folder,
      env: { PATH: process.env.PATH, ...environment },
    })
    await program.line('stdout', line => line.startsWith('Strongroom answers at'))
    return new VaultProcess(program, JSON.parse(readFileSync(join(folder, 'dev-keys.json'), 'utf8')))
  }

  get ended(): Promise<Result> {
    return this.#program.exited
  }

  signal(signal: NodeJS.Signals): void {
    this.#program.child.kill(signal)
  }
}

/** `strongroom serve` with workers, on a port of its own choice and with a tenant of its own. */
export class VaultWorkers {
  readonly #program: Program
  readonly keys: StarterKeys

  private constructor(program: Program, keys: StarterKeys) {
    this.#program = program
    this.keys = keys
  }

  static async start(site: Site, workers: number): Promise<VaultWorkers> {
    const program = await site.serve(['--workers', String(workers), '--log-level', 'debug'])
    const keys = await site.json('tenant', 'create', '--name', 'Crash')
    return new VaultWorkers(program, { ...keys, base_url: program.url })
  }

  /** Kills the worker with this number, and resolves once another one answers in its place. */
  async kill(number: number): Promise<void> {
    const starts = this.#log('a worker starts').filter(({ worker }) => worker === number)
    process.kill(Number(starts.at(-1)?.pid), 'SIGKILL')
    const answers = (line: string): boolean => line.includes(`"worker":${number},"msg":"answering"`)
    await this.#program.line('stderr', answers, starts.length + 1)
  }

  /** What it complained about, apart from workers that were killed. */
  complaints(): string[] {
    return this.#program.stderr
      .split('\n')
      .filter(line => /^(?!\{)|"level":[56]0/.test(line) && line !== '')
      .filter(line => !/"signal":"SIGKILL".*"msg":"a worker ended and is replaced"/.test(line))
  }

  async stop(): Promise<Result> {
    this.#program.child.kill('SIGTERM')
    return this.#program.exited
  }

  #log(message: string): { worker: number; pid?: number }[] {
    return this.#program.stderr
      .split('\n')
      .filter(line => line.endsWith(`"msg":"${message}"}`))
      .map(line => JSON.parse(line))
  }
}
