import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LoadResult, RequestKind } from './load.ts'
import { load } from './processes.ts'
import { nextSerial, seconds } from './settings.ts'

const main = join(import.meta.dirname, '../server/bin/strongroom.js')

/** `strongroom serve` as it runs in production, with a tenant and some tokens. */
export type Served = {
  readonly pid: number
  readonly workers: number
  readonly port: number
  readonly keys: {
    readonly api_key: string
    readonly private_api_key: string
    readonly management_api_key: string
  }
  readonly ids: readonly string[]
  stop(): Promise<void>
}

/** On the embedded store, or on the given database. */
export const startServed = async (workers: number, databaseUrl?: string): Promise<Served> => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-bench-'))
  const keyFile = join(folder, 'master.key')
  const storage = databaseUrl === undefined ? ['--data', join(folder, 'data')] : []
  const vault = [...storage, '--key-provider', 'file', '--master-key-file', keyFile]
  const env = { ...process.env, ...(databaseUrl && { STRONGROOM_DATABASE_URL: databaseUrl }) }
  const strongroom = (...args: string[]): string =>
    execFileSync(process.execPath, [main, ...args], { encoding: 'utf8', env })
  strongroom('master-key', '--master-key-file', keyFile)
  strongroom('migrate', ...vault)
  const keys = JSON.parse(strongroom('tenant', 'create', '--name', 'Bench', '--json', ...vault))
  const args = [
    '--max-semi-space-size=16',
    main,
    'serve',
    ...vault,
    '--port',
    '0',
    '--workers',
    String(workers),
  ]
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let text = ''
  for await (const chunk of child.stderr) {
    text += chunk
    if (text.includes('listening')) break
  }
  const port = Number(new URL(/"url":"([^"]+)"/.exec(text)?.[1] ?? '').port)
  const answer = await fetch(`http://127.0.0.1:${port}/tokenize`, {
    method: 'POST',
    headers: { 'svc-api-key': keys.api_key, 'content-type': 'application/json' },
    body: JSON.stringify(Array.from({ length: 1_000 }, (_, i) => `value ${i}`)),
  })
  return {
    pid: child.pid ?? 0,
    workers,
    port,
    keys,
    ids: (await answer.json()) as string[],
    stop: async () => {
      child.kill('SIGTERM')
      await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export const loadServed = ({ port, keys, ids }: Served, kind: RequestKind): Promise<LoadResult> => {
  const key = kind === 'get' || kind === 'list' || kind === 'pages' ? keys.private_api_key : keys.api_key
  return load({ port, kind, key, ids, connections: 64, seconds, serial: nextSerial() })
}
