import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cpuMicroseconds } from './cpu-time.ts'
import type { BenchDestination } from './destination.ts'
import type { LoadJob, LoadResult } from './load.ts'

const here = import.meta.dirname

/** A server under load, as the kernel sees it. */
export type Measured = {
  readonly port: number
  cpuMicroseconds(): number
  residentMiB(): number
  stop(): Promise<void>
}

export type BenchKeys = {
  /** Allows creates and updates. */
  readonly write: string
  readonly reveal: string
  readonly mask: string
  readonly manage: string
}

export type MeasuredVault = Measured & { readonly keys: BenchKeys; readonly folder: string }

const residentMiB = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024

const measured = (child: ChildProcess, port: number, after: () => void = () => {}): Measured => ({
  port,
  cpuMicroseconds: () => cpuMicroseconds(child.pid ?? 0),
  residentMiB: () => residentMiB(child.pid ?? 0),
  stop: async () => {
    child.kill('SIGTERM')
    await once(child, 'exit')
    after()
  },
})

const firstLine = async (child: ChildProcess): Promise<string> => {
  let text = ''
  for await (const chunk of child.stdout ?? []) {
    text += chunk
    if (text.includes('\n')) break
  }
  return text.trim()
}

export const startEcho = async (answerBytes: number): Promise<Measured> => {
  const child = spawn(process.execPath, [join(here, 'echo.ts'), String(answerBytes)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return measured(child, Number(await firstLine(child)))
}

/** Where requests through the proxy end. */
export const startDestination = async (): Promise<Measured & { readonly told: BenchDestination }> => {
  const child = spawn(process.execPath, [join(here, 'destination.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const told = JSON.parse(await firstLine(child)) as BenchDestination
  return { ...measured(child, told.port), told }
}

/** The yardstick of the proxy. */
export const startForwarder = async (destination: BenchDestination): Promise<Measured> => {
  const child = spawn(process.execPath, [join(here, 'forwarder.ts'), JSON.stringify(destination)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return measured(child, Number(await firstLine(child)))
}

/** The real server with a new tenant, in a temporary folder unless one is given. A given folder is kept. */
export const startVault = async (
  given?: string,
  flags: readonly string[] = [],
  settings: Readonly<Record<string, string>> = {},
): Promise<MeasuredVault> => {
  const folder = given ?? mkdtempSync(join(tmpdir(), 'strongroom-bench-'))
  const child = spawn(
    process.execPath,
    ['--max-semi-space-size=16', ...flags, join(here, '../server/bin/strongroom.js'), 'dev'],
    {
      env: {
        ...process.env,
        STRONGROOM_DATA: folder,
        STRONGROOM_PORT: '0',
        STRONGROOM_LOG_LEVEL: 'error',
        ...settings,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  await firstLine(child)
  const made = JSON.parse(readFileSync(join(folder, 'dev-keys.json'), 'utf8'))
  const remove = (): void => {
    if (given === undefined) rmSync(folder, { recursive: true, force: true })
  }
  const mask = await newKey(made.base_url, made.management_api_key, ['token:read'])
  return {
    ...measured(child, Number(new URL(made.base_url).port), remove),
    keys: { write: made.api_key, reveal: made.private_api_key, mask, manage: made.management_api_key },
    folder,
  }
}

const newKey = async (baseUrl: string, managementKey: string, permissions: string[]): Promise<string> => {
  const answer = await fetch(`${baseUrl}/applications`, {
    method: 'POST',
    headers: { 'svc-api-key': managementKey, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', type: 'private', permissions }),
  })
  return ((await answer.json()) as { key: string }).key
}

export const load = async (job: LoadJob): Promise<LoadResult> => {
  const child = spawn(process.execPath, [join(here, 'load.ts')], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(job))
  let text = ''
  for await (const chunk of child.stdout) text += chunk
  const result = JSON.parse(text) as LoadResult
  if (result.failed > 0) throw new Error(`${result.failed} requests of ${job.kind} failed`)
  return result
}
