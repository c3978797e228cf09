import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LoadJob, LoadResult } from './load.ts'

const here = import.meta.dirname

/** A server under load: its port, and how much processor time it has used. */
export type Measured = { readonly port: number; cpuMicroseconds(): number; stop(): Promise<void> }

export type MeasuredVault = Measured & {
  readonly keys: { api_key: string; private_api_key: string }
  readonly folder: string
}

/** From the kernel's own accounting, in ticks of 10 ms; it does not care how busy the machine is otherwise. */
const cpuMicroseconds = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

const measured = (child: ChildProcess, port: number, after: () => void = () => {}): Measured => ({
  port,
  cpuMicroseconds: () => cpuMicroseconds(child.pid ?? 0),
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

export const startVault = async (): Promise<MeasuredVault> => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-bench-'))
  const child = spawn(
    process.execPath,
    ['--max-semi-space-size=32', join(here, '../server/src/cli/main.ts'), 'dev'],
    {
      env: { ...process.env, STRONGROOM_DATA: folder, STRONGROOM_PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  await firstLine(child)
  const keys = JSON.parse(readFileSync(join(folder, 'dev-keys.json'), 'utf8'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  return { ...measured(child, Number(new URL(keys.base_url).port), remove), keys, folder }
}

export const load = async (job: LoadJob): Promise<LoadResult> => {
  const child = spawn(process.execPath, [join(here, 'load.ts')], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(job))
  let text = ''
  for await (const chunk of child.stdout) text += chunk
  return JSON.parse(text) as LoadResult
}
