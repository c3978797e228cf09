import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Receivers } from '../server/test/rig/receivers.ts'
import { makeTokens } from './make-tokens.ts'
import { load, type MeasuredVault, startVault } from './processes.ts'
import { nextSerial, rounds, seconds } from './settings.ts'
import { median } from './statistics.ts'

const eventsPerBurst = 10_000
const gets = { kind: 'get', connections: 16, rate: 400 } as const

/**
 * What events cost. A burst of 10,000 is told to a webhook while tokens are read at a steady rate: the latencies must be those of a
 * vault that makes the same burst and has no webhook. Then the whole feed is read.
 */
export const benchFeed = async (): Promise<void> => {
  const receivers = await Receivers.start(1)
  const [receiver] = receivers.all
  if (receiver === undefined) throw new Error('there is no receiver')
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-bench-ca-'))
  const { ca = '', ports, dns } = receivers.outbound
  writeFileSync(join(folder, 'ca.pem'), ca)
  Object.assign(process.env, {
    STRONGROOM_OUTBOUND_ALLOW: ports.map(port => `127.0.0.1:${port}`).join(),
    STRONGROOM_OUTBOUND_PORTS: ports.join(),
    STRONGROOM_OUTBOUND_DNS: dns.join(),
    STRONGROOM_OUTBOUND_CA: join(folder, 'ca.pem'),
  })
  const sides = [await side(receiver.url), await side()] as const
  const latencies: number[][] = [[], []]
  const cpu: number[][] = [[], []]
  const told: number[] = []
  for (let round = 0; round < rounds; round++)
    for (const which of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const { vault, ids } = sides[which === 0 ? 0 : 1]
      receiver.take()
      await makeTokens(vault, eventsPerBurst)
      const before = vault.cpuMicroseconds()
      const begun = performance.now()
      const job = { ...gets, port: vault.port, key: vault.keys.mask, ids, seconds, serial: nextSerial() }
      const { latenciesMs } = await load(job)
      latencies[which]?.push(latenciesMs.p99)
      cpu[which]?.push((vault.cpuMicroseconds() - before) / 1_000)
      if (which === 0) {
        while (receiver.destination.requests.length < eventsPerBurst)
          await new Promise(resolve => setTimeout(resolve, 20))
        told.push(eventsPerBurst / ((performance.now() - begun) / 1_000))
      }
    }
  console.table([
    row('with a webhook', latencies[0], cpu[0], median(told).toFixed(0)),
    row('without', latencies[1], cpu[1], ''),
  ])
  console.table([await readWholeFeed(sides[0].vault)])
  for (const { vault } of sides) await vault.stop()
  receivers.stop()
  rmSync(folder, { recursive: true })
}

const row = (name: string, p99: readonly number[] = [], cpu: readonly number[] = [], told: string) => ({
  vault: name,
  'p99 of a get, ms': median(p99).toFixed(1),
  'CPU, ms': median(cpu).toFixed(0),
  'deliveries/s': told,
})

const managementOf = ({ folder }: MeasuredVault): string =>
  JSON.parse(readFileSync(join(folder, 'dev-keys.json'), 'utf8')).management_api_key

const side = async (url?: string): Promise<{ vault: MeasuredVault; ids: readonly string[] }> => {
  const vault = await startVault()
  const ids = await makeTokens(vault, 1_000)
  if (url !== undefined) {
    const answer = await fetch(`http://127.0.0.1:${vault.port}/webhooks`, {
      method: 'POST',
      headers: { 'svc-api-key': managementOf(vault), 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'bench', url, events: ['token.created'] }),
    })
    if (answer.status !== 201) throw new Error(await answer.text())
  }
  return { vault, ids }
}

const readWholeFeed = async (vault: MeasuredVault) => {
  const before = vault.cpuMicroseconds()
  const begun = performance.now()
  const pages: number[] = []
  let events = 0
  for (let start = ''; ; ) {
    const asked = performance.now()
    const url = `http://127.0.0.1:${vault.port}/events?size=1000${start}`
    const answer = await fetch(url, { headers: { 'svc-api-key': managementOf(vault) } })
    const { pagination, data } = (await answer.json()) as {
      pagination: { next: string }
      data: readonly unknown[]
    }
    pages.push(performance.now() - asked)
    if (data.length === 0) break
    events += data.length
    start = `&start=${pagination.next}`
  }
  const perSecond = events / ((performance.now() - begun) / 1_000)
  return {
    events,
    'events/s': perSecond.toFixed(0),
    'a page of 1,000, ms': median(pages).toFixed(1),
    'CPU µs for each': ((vault.cpuMicroseconds() - before) / events).toFixed(1),
  }
}
