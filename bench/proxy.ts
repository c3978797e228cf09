import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { destinationName } from './destination.ts'
import type { LoadJob } from './load.ts'
import { makeTokens } from './make-tokens.ts'
import { load, type Measured, startDestination, startForwarder, startVault } from './processes.ts'
import { nextSerial, rounds, seconds } from './settings.ts'
import { median } from './statistics.ts'

/** A request with one token, through the vault's proxy and through a bare forwarder, in turn, to the same destination. */
const bar = 0.5

export const benchProxy = async (): Promise<void> => {
  const destination = await startDestination()
  const { told } = destination
  const caFile = join(tmpdir(), `strongroom-bench-ca-${process.pid}.pem`)
  writeFileSync(caFile, told.ca)
  const vault = await startVault(undefined, process.env.BENCH_FLAGS?.split(' ') ?? [], {
    STRONGROOM_OUTBOUND_ALLOW: `127.0.0.1:${told.port}`,
    STRONGROOM_OUTBOUND_PORTS: String(told.port),
    STRONGROOM_OUTBOUND_DNS: told.dns,
    STRONGROOM_OUTBOUND_CA: caFile,
  })
  const forwarder = await startForwarder(told)
  const ids = await makeTokens(vault, 1_000)
  const manage = async (path: string, body: object): Promise<{ key: string }> => {
    const answer = await fetch(`http://127.0.0.1:${vault.port}${path}`, {
      method: 'POST',
      headers: { 'svc-api-key': vault.keys.manage, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(await answer.text())
    return (await answer.json()) as { key: string }
  }
  const user = await manage('/applications', {
    name: 'user',
    type: 'private',
    rules: [{ priority: 1, container: '/', transform: 'mask', permissions: ['token:use'] }],
  })
  const proxy = await manage('/proxies', {
    name: 'Partner',
    destination_url: `https://${destinationName}:${told.port}/v1`,
  })
  const oneRound = async ({ port, cpuMicroseconds }: Measured): Promise<[perSecond: number, cpu: number]> => {
    const job: LoadJob = {
      port,
      kind: 'proxy',
      key: user.key,
      proxyKey: proxy.key,
      ids,
      // Fewer than a tenant may have under way.
      connections: 32,
      seconds,
      serial: nextSerial(),
    }
    const before = cpuMicroseconds()
    const { requests, seconds: took } = await load(job)
    return [requests / took, (cpuMicroseconds() - before) / requests]
  }
  const of: Record<'vault' | 'bare', [number, number][]> = { vault: [], bare: [] }
  for (let round = 0; round < rounds; round++) {
    const sides = [
      ['vault', vault],
      ['bare', forwarder],
    ] as const
    for (const [name, side] of round % 2 === 0 ? sides : sides.toReversed())
      of[name].push(await oneRound(side))
  }
  const ratio = median(of.vault.map(([perSecond], at) => perSecond / (of.bare[at]?.[0] ?? 1)))
  console.table([
    {
      request: 'proxy, one token',
      'vault/s': median(of.vault.map(([perSecond]) => perSecond)).toFixed(0),
      'bare/s': median(of.bare.map(([perSecond]) => perSecond)).toFixed(0),
      ratio: ratio.toFixed(3),
      bar: `${bar} ${ratio >= bar ? 'met' : 'MISSED'}`,
      'CPU µs vault': median(of.vault.map(([, cpu]) => cpu)).toFixed(1),
      'CPU µs bare': median(of.bare.map(([, cpu]) => cpu)).toFixed(1),
    },
  ])
  for (const each of [vault, forwarder, destination]) await each.stop()
  rmSync(caFile)
}
