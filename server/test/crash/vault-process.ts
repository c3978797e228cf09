import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StarterKeys } from '../../src/cli/starter-applications.ts'
import { mainFile, Program, type Result } from '../cli/program.ts'

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
