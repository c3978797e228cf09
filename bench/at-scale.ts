import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LoadJob } from './load.ts'
import { makeTokens } from './make-tokens.ts'
import { load, type MeasuredVault, startVault } from './processes.ts'
import { nextSerial, rounds, seconds } from './settings.ts'
import { median } from './statistics.ts'

const tokens = Number(process.env.BENCH_TOKENS ?? 1_000_000)

const jobFor = (vault: MeasuredVault, ids: readonly string[], kind: 'create' | 'get'): LoadJob => ({
  port: vault.port,
  kind,
  key: kind === 'create' ? vault.keys.write : vault.keys.reveal,
  ids,
  connections: 64,
  seconds,
  serial: nextSerial(),
})

/** `scale`: creates and gets in a vault of a million tokens, compared with one of ten thousand. */
export const benchScale = async (): Promise<void> => {
  const small = await startVault()
  const large = await startVault()
  const smallIds = await makeTokens(small, 10_000)
  const largeIds = await makeTokens(large, tokens)
  const rows: Record<string, string>[] = []
  for (const kind of ['create', 'get'] as const) {
    const ratios: number[] = []
    for (let round = 0; round < rounds; round++) {
      const rate = async (vault: MeasuredVault, ids: readonly string[]): Promise<number> => {
        const result = await load(jobFor(vault, ids, kind))
        return result.requests / result.seconds
      }
      const few = await rate(small, smallIds)
      ratios.push((await rate(large, largeIds)) / few)
    }
    const ratio = median(ratios)
    rows.push({
      kind,
      tokens: String(tokens),
      ratio: ratio.toFixed(2),
      bar: `0.85 ${ratio >= 0.85 ? 'met' : 'MISSED'}`,
    })
  }
  console.table(rows)
  await small.stop()
  await large.stop()
}

/** `memory`: how much stays resident after a million single creates. */
export const benchMemory = async (): Promise<void> => {
  const vault = await startVault()
  let created = 0
  while (created < tokens) {
    const { requests } = await load({ ...jobFor(vault, [], 'create'), seconds: 10 })
    created += requests
    console.log(`${created} creates: ${vault.residentMiB().toFixed(0)} MiB resident`)
  }
  console.log(`bytes on disk per card: ${Math.round(diskBytes(vault.folder) / created)}`)
  await vault.stop()
}

const diskBytes = (folder: string): number => statSync(join(folder, 'vault.db')).size

/** `startup`: the time from starting the process on a million tokens to the first answer of /ready. */
export const benchStartup = async (): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-startup-'))
  try {
    const vault = await startVault(folder)
    await makeTokens(vault, tokens)
    await vault.stop()
    const times: number[] = []
    for (let round = 0; round < rounds; round++) times.push(await timeToReady(folder))
    console.log(`ready after start on ${tokens} tokens: ${median(times).toFixed(0)} ms (bar 1,000)`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const timeToReady = async (folder: string): Promise<number> => {
  const port = 20_000 + Math.floor(Math.random() * 20_000)
  const started = performance.now()
  const child = spawn(process.execPath, [join(import.meta.dirname, '../server/bin/strongroom.js'), 'dev'], {
    env: { ...process.env, STRONGROOM_DATA: folder, STRONGROOM_PORT: String(port) },
    stdio: 'ignore',
  })
  for (;;) {
    const isReady = await fetch(`http://127.0.0.1:${port}/ready`).then(
      answer => answer.ok,
      () => false,
    )
    if (isReady) break
  }
  const took = performance.now() - started
  child.kill('SIGTERM')
  await once(child, 'exit')
  return took
}
