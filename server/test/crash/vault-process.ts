import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { StarterKeys } from '../../src/cli/starter-applications.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/** How a process ended, and what it said until then. */
export type Ending = {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** `strongroom dev` as its own process, on a port of its own choice unless told otherwise. */
export class VaultProcess {
  readonly #child: ChildProcess
  readonly #folder: string
  readonly ended: Promise<Ending>
  stdout = ''
  stderr = ''

  private constructor(folder: string, environment: Record<string, string>) {
    this.#folder = folder
    this.#child = spawn(process.execPath, [main, 'dev'], {
      env: { PATH: process.env.PATH, STRONGROOM_DATA: folder, STRONGROOM_PORT: '0', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    this.ended = once(this.#child, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
      stdout: this.stdout,
      stderr: this.stderr,
    }))
  }

  /** Starts and does not wait. */
  static spawn(folder: string, environment: Record<string, string> = {}): VaultProcess {
    return new VaultProcess(folder, environment)
  }

  /** Resolves once it answers requests; rejects with what it said when it ends before that. */
  static async start(folder: string, environment: Record<string, string> = {}): Promise<VaultProcess> {
    const vault = new VaultProcess(folder, environment)
    await Promise.race([
      vault.#saysItAnswers(),
      vault.ended.then(({ code, stderr }) => {
        throw new Error(`the vault ended with ${code} before it answered: ${stderr}`)
      }),
    ])
    return vault
  }

  async #saysItAnswers(): Promise<void> {
    while (!this.stdout.includes('Strongroom answers at') && this.#child.stdout !== null)
      await once(this.#child.stdout, 'data')
  }

  get keys(): StarterKeys {
    return JSON.parse(readFileSync(join(this.#folder, 'dev-keys.json'), 'utf8'))
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  async end(signal: NodeJS.Signals): Promise<Ending> {
    this.signal(signal)
    return this.ended
  }
}
